"""Submission is neither lost nor doubled, wherever `launch up` is killed."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.slurm.deployment import Site
from tests.testbed.bed import Bed, until

WRAPPER = """\
#!/bin/sh
case " $* " in *" --test-only "*) exec {real} "$@";; esac
[ -e {folder}/once ] && exec {real} "$@"
touch {folder}/once
{do}
"""


@pytest.fixture
def site(networked: Bed) -> Site:
    return Site(networked)


def wrap(site: Site, do: str) -> dict[str, str]:
    """An environment where the first `sbatch` that submits does something else; `{real}` is the true one."""
    real = shutil.which("sbatch")
    folder = site.folder / "wrapper"
    folder.mkdir()
    folder.chmod(0o777)
    program = folder / "sbatch"
    program.write_text(WRAPPER.format(real=real, folder=folder, do=do.format(real=real, folder=folder)))
    program.chmod(0o755)
    return {"PATH": f"{folder}:{site.bed.environment()['PATH']}"}


def jobs(site: Site) -> list[int]:
    """Jobs that have been submitted and not ended."""
    return sorted(job for job, state in site.bed.jobs().items() if state in ("PENDING", "RUNNING", "CONFIGURING"))


@pytest.mark.parametrize(
    ("do", "before"),
    [
        pytest.param("kill -9 $PPID; exit 1", 0, id="before Slurm heard of it"),
        pytest.param('{real} "$@" >/dev/null; kill -9 $PPID', 1, id="after Slurm accepted it"),
        pytest.param('kill -9 $PPID; sleep 1; exec {real} "$@"', None, id="while sbatch goes on by itself"),
    ],
)
def test_a_killed_up_is_gone_on_with(site: Site, do: str, before: int | None) -> None:
    env = wrap(site, do)
    recipe = site.recipe()
    assert site.launch("up", recipe, "--detach", status=None, env=env).returncode == -9
    assert before is None or len(jobs(site)) == before
    done = site.launch("up", recipe, "--detach", env=env)
    assert "whose `launch up` did not end" in done.stderr
    (run,) = site.runs()
    assert done.stdout.strip() == run.name
    assert jobs(site) == [int(run.job)]


def test_an_interrupted_submission_goes_on_by_itself(site: Site) -> None:
    env = wrap(site, 'while [ ! -e {folder}/go ]; do sleep 0.05; done; exec {real} "$@"')
    with site.begin("up", site.recipe(), "--detach", env=env) as process:
        until(lambda: (site.folder / "wrapper/once").exists() or None)
        os.kill(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "`launch up` of the same recipe goes on with it" in said
    (site.folder / "wrapper/go").touch()
    assert "whose `launch up` did not end" in site.launch("up", site.recipe(), "--detach", env=env).stderr
    (run,) = site.runs()
    assert jobs(site) == [int(run.job)]


def test_a_job_that_nobody_noted_is_found_by_name(site: Site) -> None:
    env = wrap(site, '{real} "$@" >/dev/null; kill -9 $PPID')
    site.launch("up", site.recipe(), "--detach", status=None, env=env)
    (run,) = site.runs()
    assert [int(run.job)] == jobs(site)
    site.launch("down", run.name)
    assert run.outcome()["state"] == "stopped"


def test_an_answer_that_got_lost_does_not_lose_the_job(site: Site) -> None:
    said = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    env = wrap(site, f'{{real}} "$@" >/dev/null; echo "{said}" >&2; exit 1')
    done = site.launch("up", site.recipe(), "--detach", env=env)
    (run,) = site.runs()
    assert re.search(r"submitted job (\d+)", done.stderr)
    assert jobs(site) == [int(run.job)]


def test_a_late_refusal_leaves_nothing(site: Site) -> None:
    said = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy"
    env = wrap(site, f'echo "{said}" >&2; exit 1')
    done = site.launch("up", site.recipe(), "--detach", status=5, env=env)
    assert "Job violates accounting/QOS policy" in done.stderr
    assert site.runs() == []
    assert [path.name for path in (site.folder / "alice/runs").iterdir()] == []


@pytest.mark.parametrize(
    ("word", "message", "place"),
    [
        ("slurm.sbatch.constraint=fast", "Invalid feature specification", "--set:1:25"),
        ("slurm.sbatch.nodelist=nowhere", "Invalid node name specified", "--set:1:23"),
        ("slurm.sbatch.reservation=ours", "Requested reservation is invalid", "--set:1:26"),
    ],
)
def test_a_refusal_is_placed_at_what_was_written(site: Site, word: str, message: str, place: str) -> None:
    done = site.launch("up", site.recipe(), "--detach", f"--set={word}", status=5)
    assert f"error[slurm-refused]: Slurm: {message}\n --> {place}" in done.stderr
    assert "help: `" in done.stderr


def test_two_at_once_give_two_runs(site: Site) -> None:
    recipe = site.recipe()
    both = [site.begin("up", recipe, "--detach") for _ in range(2)]
    said = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    found = site.runs()
    assert sorted(run.name for run in found) == sorted(out.strip() for out, _ in said)
    assert sorted(int(run.job) for run in found) == jobs(site)


def test_the_shell_does_not_leak_into_the_job(site: Site) -> None:
    env = {"SLURM_NTASKS": "7", "SBATCH_PARTITION": "nosuch", "PYXIS_CONTAINER_IMAGE": "/x", "MY_SECRET": "s3cret"}
    run_name = site.launch("up", site.recipe(), "--wait", env=env).stderr
    assert "started" in run_name
    run = site.last()
    for name in ("worker-0", "router"):
        seen = site.launch("exec", run.name, name, "--", "env").stdout
        assert "s3cret" not in seen
        assert "PYXIS_" not in seen
    pid = run.task("worker-0")
    words = os.fsdecode(Path(f"/proc/{pid}/environ").read_bytes()).split("\0")
    assert "SLURM_NTASKS=1" in words
    assert not [word for word in words if word.startswith(("PYXIS_", "SBATCH_", "MY_SECRET"))]
