import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.plan.file import preamble, scrape, setup
from launcher.plan.plan import plan
from launcher.plan.step import Target
from launcher.run.script import bind
from tests.jobs import adapters, cluster, job, manifest, role, router

SITE = cluster(setup={"inline": "ulimit -n 1"})


BASH = """\
[ -n "$BASH_VERSION" ] || ! command -v bash >/dev/null 2>&1 || exec bash "$0" "$@"
set -e
trap 'echo "launch: the preamble of the $LAUNCH__SETUP ended before its program began" >&2' EXIT

"""
SITES, ROLES, EXEC = "LAUNCH__SETUP=cluster\n\n", "LAUNCH__SETUP=role\n\n", '\n\ntrap - EXIT\nexec "$@"\n'


@pytest.mark.parametrize(
    ("on", "text", "path", "files"),
    [
        (cluster(), None, None, {}),
        (
            cluster(),
            "export A=1\n",
            "setup/worker.sh",
            {"setup/worker.sh": f"{BASH}{ROLES}export A=1\n{EXEC}"},
        ),
        (SITE, None, "setup/_cluster.sh", {"setup/_cluster.sh": f"{BASH}{SITES}ulimit -n 1{EXEC}"}),
        (
            SITE,
            "echo '{ip}' $HOME",
            "setup/worker.sh",
            {
                "setup/_cluster.sh": f"{BASH}{SITES}ulimit -n 1{EXEC}",
                "setup/worker.sh": f"{BASH}{SITES}ulimit -n 1\n\n{ROLES}echo '{{ip}}' $HOME{EXEC}",
            },
        ),
    ],
)
def test_preambles(on, text, path, files):
    worker = role("worker", setup=text)
    made = job(worker, on=on)
    assert setup(made, worker) == path
    found = {file.path: file.text for file in plan(made, adapters()).files if file.path.startswith("setup/")}
    assert found == files


@given(st.text(st.characters(codec="utf-8", exclude_characters="\ufdd0\ufdd1")))
def test_a_preamble_is_carried_to_the_byte(text):
    found = plan(job(role("worker", setup=text)), adapters())
    (file,) = [file for file in found.files if file.path == "setup/worker.sh"]
    assert file.text == f"{BASH}{ROLES}{text}{EXEC}" == preamble(None, text)
    assert bind(file, {}) == file


def test_workers_file_holds_every_endpoint():
    found = plan(job(role("worker", replicas=2), router()), adapters())
    (file,) = [file for file in found.files if file.path == "workers.json"]
    data = bind(file.data, {"ip0": "10.0.0.1"})
    assert json.loads(json.dumps(data)) == data
    assert data["url"] == "http://10.0.0.1:8000"
    assert data["served_name"] == "tiny"
    assert [(each["name"], each["url"], each["mode"]) for each in data["workers"]] == [
        ("worker-0", "http://10.0.0.1:6100", "aggregate"),
        ("worker-1", "http://10.0.0.1:6132", "aggregate"),
    ]


def test_scrape_is_a_file_sd_document():
    assert scrape([Target("w-0", "w", "a:1", "/m")]) == [
        {"targets": ["a:1"], "labels": {"__metrics_path__": "/m", "role": "w", "step": "w-0"}}
    ]


def test_a_role_that_starts_nothing_has_no_preamble():
    found = plan(job(role("worker"), router("direct", setup="true"), on=SITE), adapters())
    assert [file.path for file in found.files] == ["workers.json", "scrape.json", "setup/_cluster.sh"]


def test_each_role_has_one_preamble_for_all_its_replicas():
    box = manifest(ports={"http": {"base": 1}})
    found = plan(
        job(role("worker", replicas=3, setup="true"), role("box", box, setup="true"), router(), on=SITE), adapters()
    )
    scripts = [file.path for file in found.files if file.path.startswith("setup/")]
    assert scripts == ["setup/_cluster.sh", "setup/worker.sh", "setup/box.sh"]
    assert {step.name: step.setup for step in found.steps if step.role != "worker"} == {
        "box": "setup/box.sh",
        "router": "setup/_cluster.sh",
    }
    assert {step.role: step.writable for step in found.steps} == {"worker": True, "box": True, "router": False}
