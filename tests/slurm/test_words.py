"""The words of a Script on real Slurm with the stand-in for pyxis, with the real Apptainer, and without containers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from launcher.model.cluster import Cluster
from launcher.plan.file import SITE_SETUP, preamble
from launcher.plan.step import Plan
from launcher.run.script import File, Stop, ref
from tests.render import plans
from tests.slurm.words import Words, begun, ended
from tests.testbed import apptainer, image, plugin
from tests.testbed.bed import Bed
from tests.testbed.image import ENGINE
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started

REPORT = """
import json, os, signal, sys, time
def end(number, frame):
    print("told %d" % number, flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
def writes(path):
    try:
        open(path, "w").close()
        return True
    except OSError:
        return False
print(json.dumps({
    "argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "node": os.uname().nodename,
    "root": writes("/written-by-the-role"), "run": writes(sys.argv[1] + "/logs/from-" + str(os.getpid())),
    "made": os.path.exists("/made"), "umask": os.umask(0),
}), flush=True)
while True:
    time.sleep(60)
"""
ODD = "a,b 'c' \"d\" $HOME `id` \\ {x} ü"
LINES = "one\nHOME=/evil\nLEAK=1\n"
ARGUMENTS = ("", " ", "a\nb", "'\"", "$HOME `id` *", "--flag=x", "ü")
SECRET = "s3cr3t, \"'$ `{ü"
SETUP = "export FROM_SETUP='a b'\n(echo yes >/made) 2>/dev/null || :\numask 007"
KINDS = ("pyxis", "apptainer", "none")


@pytest.fixture(scope="module")
def site() -> Iterator[Bed]:
    """Three nodes with addresses of their own, pyxis's stand-in and Apptainer."""
    programs = {"enroot": plugin.ENROOT, "apptainer": apptainer.apptainer()}
    with started(Layout(nodes=3, networks=("eth0", "hsn0")), plugin.plugin(), programs) as running:
        yield running


def cluster(runtime: str, bed: Bed) -> Cluster:
    return plans.site(
        runtime=runtime,
        python="/usr/bin/python3",
        interface="hsn0",
        node={"gpus": 8, "local": "/var/tmp"},
        slurm={"kill_wait": 5, "exclusive": True},
        setup={"inline": "umask 027"},
    )


def deployment(reference: str | None) -> Plan:
    """Workers that share a node and an image, one on another, a router with a preamble, four ranks on two nodes."""
    words = (ref("python"), "-c", REPORT, ref("run"), *ARGUMENTS)
    env = {"ODD": ODD, "LINES": LINES, "AT": f"{ref('ip', 1)} {ref('run')}", "EMPTY": ""}
    late = {"LD_FAKE": "x y", "SLURM_NTASKS": "99", "TMPDIR": "/tmp"}
    common: dict[str, Any] = {"words": words, "reference": reference, "image": "img", "setup": SITE_SETUP}
    steps = (
        plans.step("worker-0", (0,), gpus=(0, 1), env={**env, **late}, env_from=("TOKEN",), **common),
        plans.step("worker-1", (0,), gpus=(6,), env=env, stop=Stop("INT"), **common),
        plans.step("worker-2", (1,), env=env, **common),
        plans.step("router", (0,), env=env, **{**common, "setup": "setup/router.sh"}, writable=True),
        plans.step("ranks", (0, 1), tasks=4, mpi=True, env=env, **{**common, "setup": "setup/ranks.sh"}, writable=True),
    )
    files = (
        File(SITE_SETUP, text=preamble("umask 027")),
        *(File(f"setup/{name}.sh", text=preamble("umask 027", SETUP)) for name in ("router", "ranks")),
    )
    return replace(plans.plan(*steps, on=plans.batch(2)), files=files)


def reference(kind: str) -> str | None:
    """The image of all roles."""
    if kind == "none":
        return None
    return str(apptainer.sif(ENGINE) if kind == "apptainer" else image.squashfs(ENGINE))


@pytest.fixture(scope="module", params=KINDS)
def words(request: pytest.FixtureRequest, site: Bed) -> Iterator[Words]:
    """A deployment that is up."""
    kind: str = request.param
    running = begun(site, deployment(reference(kind)), cluster(kind, site))
    running.up({"TOKEN": SECRET})
    yield running
    ended(running)


def kind(words: Words) -> str:
    joined = " ".join(words.child("worker-0").argv)
    return next((name for name in ("apptainer", "container") if name in joined), "none").replace("container", "pyxis")


ALL = ("worker-0", "worker-1", "worker-2", "router")


def test_facts_of_every_node(words: Words) -> None:
    assert [fact["node"] for fact in words.facts] == ["node1", "node2"]
    assert [fact["ip"] for fact in words.facts] == ["10.77.1.101", "10.77.1.102"]
    assert all((fact["error"], fact["busy"], fact["missing"]) == (None, [], []) for fact in words.facts)
    assert {fact["gpus"] for fact in words.facts} == {"0,1,2,3,4,5,6,7"}


def test_words_and_values_arrive_to_the_byte(words: Words) -> None:
    run = str(words.run) if kind(words) == "none" else "/launch"
    for name in ALL:
        (report,) = words.reports(name)
        assert report["argv"] == [run, *ARGUMENTS]
        env = report["env"]
        assert (env["ODD"], env["LINES"], env["EMPTY"]) == (ODD, LINES, ""), name
        assert env["AT"] == f"10.77.1.102 {run}"
        assert "LEAK" not in env


def test_a_secret_arrives_where_it_is_asked_for_alone(words: Words) -> None:
    having = {name: words.reports(name)[0]["env"].get("TOKEN") for name in ALL}
    assert having == {"worker-0": SECRET, "worker-1": None, "worker-2": None, "router": None}


def test_variables_of_what_starts_the_step_are_set_inside_alone(words: Words) -> None:
    env = words.reports("worker-0")[0]["env"]
    assert (env["LD_FAKE"], env["SLURM_NTASKS"], env["TMPDIR"]) == ("x y", "99", "/tmp")
    assert len(words.child("worker-0").outputs) == 1


def test_gpus_are_masked(words: Words) -> None:
    masks = {name: words.reports(name)[0]["env"].get("CUDA_VISIBLE_DEVICES") for name in ("worker-0", "worker-1")}
    assert masks == {"worker-0": "0,1", "worker-1": "6"}


def test_roots_are_read_only_but_for_a_role_s_own_preamble(words: Words) -> None:
    contained = kind(words) != "none"
    assert {name: words.reports(name)[0]["root"] for name in ALL} == {**dict.fromkeys(ALL, False), "router": contained}
    assert all(words.reports(name)[0]["run"] for name in ALL)
    assert words.reports("router")[0]["made"] is contained


def test_preambles_run_in_the_shell_of_the_role(words: Words) -> None:
    env = words.reports("router")[0]["env"]
    assert env["FROM_SETUP"] == "a b"
    masks = {name: words.reports(name)[0]["umask"] for name in ("worker-0", "router")}
    assert masks == {"worker-0": 0o027, "router": 0o007}


def test_ranks_have_their_numbers_and_their_preamble_s_files(words: Words) -> None:
    reports = words.reports("ranks")
    assert [report["env"]["SLURM_PROCID"] for report in reports] == ["0", "1", "2", "3"]
    assert [report["env"]["PMIX_RANK"] for report in reports] == ["0", "1", "2", "3"]
    assert [report["node"] for report in reports] == ["node1", "node1", "node2", "node2"]
    assert {report["made"] for report in reports} == {kind(words) != "none"}
    assert {report["root"] for report in reports} == {False}


def test_steps_are_found_by_name(words: Words) -> None:
    names = {child.name for child in words.bound.children if child.lasting}
    assert set(words.steps()) == names


def test_told_they_end_well_and_leave_nothing(words: Words) -> None:
    # The last of the module's tests of this deployment.
    told = words.tell("TERM", "worker-0", "worker-2", "router", "ranks")
    assert {name: len(pids) for name, pids in told.items()} == {"worker-0": 1, "worker-2": 1, "router": 1, "ranks": 4}
    told = words.tell("INT", "worker-1")
    assert len(told["worker-1"]) == 1
    for name in (*ALL, "ranks"):
        assert words.wait(name) == 0, words.said(name)
        signal = 2 if name == "worker-1" else 15
        for output in words.child(name).outputs:
            assert (words.run / output).read_text().endswith(f"told {signal}\n"), words.said(name)
    again = words.tell("TERM", *ALL)
    assert again == {name: [] for name in ALL}
    if kind(words) != "none":
        words.signal("launch.janitor")
        assert words.wait("launch.janitor") == 0, words.said("launch.janitor")
    assert words.steps() == {}
    assert words.bound.allocation is not None
    for root in words.bound.allocation.roots:
        for node in ("node1", "node2"):
            look = ["enroot", "list"] if root.kind == "enroot" else ["ls", root.name]
            done = words.bed.run(look, on=node)
            assert root.name not in done.stdout
