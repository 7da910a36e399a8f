"""Signals that come while a job's supervisor is not there yet: no handler, no process of ours, nobody to hear them."""

from datetime import datetime

import pytest

from tests.slurm.deployment import Deployed, Site
from tests.testbed.bed import Bed, until

PYTHON = """\
#!/bin/sh
# The supervisor's Python, which is slow to begin; what runs on compute nodes is not.
if [ "$2" = "$3/run.pyz" ]; then
    touch "$3/starting"
    while [ ! -e {folder}/go ]; do sleep 0.05; done
fi
exec {python} "$@"
"""


WARNED = 33


@pytest.fixture
def site(networked: Bed) -> Site:
    made = Site(networked)
    text = made.file.read_text()
    python = text.partition('python = "')[2].partition('"')[0]
    slow = made.write("python", PYTHON.format(folder=made.folder, python=python))
    slow.chmod(0o755)
    made.file.write_text(text.replace(f'python = "{python}"', f'python = "{slow}"'))
    return made


def starting(site: Site, *words: str) -> Deployed:
    """A run whose job has begun, its supervisor not."""
    run = site.started(*words)
    until(lambda: (run.path / "starting").exists() or None)
    return run


def go(site: Site) -> None:
    (site.folder / "go").touch()


def ended(run: Deployed) -> tuple[str, int, str]:
    outcome = run.outcome()
    run.gone()
    # Nothing was begun that had to be ended.
    assert [event["event"] for event in run.events if event["event"] == "start"] == []
    return outcome["state"], outcome["exit"], outcome["cause"]


def test_the_batch_script_lives_on(site: Site) -> None:
    run = starting(site)
    site.bed.ask("scancel", "--batch", "--signal=TERM", run.job)
    # Not heard: nobody asked for an end of the run that could be told by anything else.
    go(site)
    run.heard("ready")
    site.launch("down", run.name)
    assert run.outcome()["state"] == "stopped"


def test_down_is_heard_afterwards(site: Site) -> None:
    run = starting(site)
    with site.begin("down", run.name) as down:
        until(lambda: (run.path / "stop.json").exists() or None)
        site.bed.ask("scancel", "--batch", "--signal=TERM", run.job)
        go(site)
        down.communicate(timeout=60)
    assert down.returncode == 0
    assert ended(run) == ("stopped", 0, "stopped by `down`")


def test_scancel_is_seen_afterwards(site: Site) -> None:
    run = starting(site)
    site.bed.ask("scancel", run.job)
    go(site)
    assert ended(run) == ("cancelled", 7, f"job {run.job} was cancelled")


def test_a_missed_warning_of_the_time_limit_is_made_up_for(site: Site) -> None:
    run = starting(site, "--set", "slurm.time=1m", "--set", "slurm.partition=short")
    begun = datetime.fromisoformat(site.bed.show(int(run.job))["StartTime"])
    # Slurm looks every 30 s whose limit is near, and this job's always is: it has been warned by then.
    until(lambda: (datetime.now() - begun).total_seconds() > WARNED or None, timeout=60)  # noqa: DTZ005  (Slurm's are local)
    go(site)
    assert ended(run) == ("timeout", 7, f"the time limit of job {run.job} was reached")
