"""`launch up` in containers on a real Slurm: the stand-in for pyxis, and the real Apptainer."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.slurm import containers, ranks
from tests.slurm.containers import AGGREGATE, CPUS, as_rendered, leavings, masks, over, recorded
from tests.slurm.deployment import Deployed, Site
from tests.testbed.bed import Bed, until

APART = """\
schema = 1
name = "apart"

[model]
served_name = "tiny"

[defaults]
manifest = "sim"

[roles.prefill]
gpus = 8

[roles.decode]
gpus = 8

[router]
kind = "vllm-router"

[ready]
timeout = "120s"
"""


BOOTSTRAP = """\
schema = 1
name = "bootstrap"

[model]
served_name = "tiny"

[defaults]
manifest = "sim"
gpus = 8
flags = { personality = "sglang" }

[roles.prefill]

[roles.decode]

[router]
kind = "sglang-router"
flags = { policy = "round_robin" }

[ready]
timeout = "120s"
"""


@pytest.fixture(params=["pyxis", "apptainer"])
def site(contained: Bed, request: pytest.FixtureRequest) -> Site:
    return containers.site(contained, request.param)


RECIPES = {
    "smg": AGGREGATE,
    "vllm-router prefill/decode": APART,
    "sglang-router prefill/decode": BOOTSTRAP,
    "a spanning step": ranks.RECIPE,
}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_a_run_serves_and_leaves_nothing(site: Site, recipe: str) -> None:
    site.adapter("ranks", ranks.ADAPTER, ranks.MANIFEST)
    received = recorded(site)
    run = site.up(text=recipe)
    assert run.ask()
    assert masks(run) == dict.fromkeys([name for name in run.steps() if "." not in name], CPUS)
    over(run)
    as_rendered(run, recipe, received)


def test_ranks_of_one_step_serve(site: Site) -> None:
    site.adapter("ranks", ranks.ADAPTER, ranks.MANIFEST)
    run = site.up(text=ranks.RECIPE)
    assert run.ask()
    assert masks(run) == {"worker-0": CPUS}
    said = [json.loads((run.path / f"logs/worker-0.{task}.log").read_text().splitlines()[0]) for task in range(4)]
    assert [(each["rank"], each["size"], each["node"]) for each in said] == [
        ("0", "4", "node1"),
        ("1", "4", "node1"),
        ("2", "4", "node2"),
        ("3", "4", "node2"),
    ]
    assert len({each["space"] for each in said}) == 1
    assert all(each["made"] and each["gpus"] == "0,1,2,3,4,5,6,7" for each in said)
    assert all(each["server"] for each in said)
    # The end of one rank is the end of all, and the one that was first is named though others ended after it.
    os.kill(pid(run, "worker-0", "node2"), signal.SIGKILL)
    outcome = run.outcome()
    assert (outcome["state"], outcome["exit"], outcome["first"]["step"]) == ("failed", 7, "worker-0")
    assert outcome["first"]["log"] in ("logs/worker-0.2.log", "logs/worker-0.3.log")
    run.gone()
    assert leavings(run) == []


def pid(run: Deployed, child: str, node: str) -> int:
    """A task of a child on a node."""
    return int(next((run.path / "pids").glob(f"{child}.{node}.*")).name.rpartition(".")[2])


def test_an_end_while_an_image_is_unpacked_is_no_fault_of_the_image(site: Site) -> None:
    run = site.started(text=AGGREGATE)
    # Under pyxis a step unpacks the image now, and says as it is ended what it says of a broken one.
    until(lambda: len([event for event in run.events if event["event"] == "start"]) > 1 or None)
    site.launch("down", run.name)
    outcome = run.outcome()
    assert (outcome["state"], outcome["exit"], outcome["hint"]) == ("stopped", 0, None)
    run.gone()
    assert leavings(run) == []


@pytest.mark.parametrize("owner", ["role", "cluster"])
def test_a_preamble_that_fails_is_named(site: Site, owner: str) -> None:
    if owner == "cluster":
        site.file.write_text(f"{site.file.read_text()}\n[setup]\ninline = 'nosuch-program'\n")
    run = site.started(text=AGGREGATE.replace("export FROM_SETUP='a b'", "(exit 3)"))
    outcome = run.outcome()
    run.gone()
    assert (outcome["exit"], outcome["first"]["setup"]) == (7, owner)
    step = {
        "role": "step `router` ended with exit code 3 in the preamble of role `router`, ",
        "cluster": f"step `{outcome['first']['step']}` ended with exit code 127 in the cluster's preamble, ",
    }
    assert outcome["cause"].startswith(step[owner])


def test_steps_have_the_share_of_cpus_that_was_planned(site: Site) -> None:
    site.file.write_text(site.file.read_text().replace("[slurm]\n", "[slurm]\nexclusive = false\n"))
    half = AGGREGATE.replace("gpus = 8", "gpus = 4").replace("replicas = 2", "replicas = 1")
    run = site.up(text=half)
    planned = {step["name"]: step["cpus"] for step in json.loads((run.path / "plan.json").read_text())["plan"]["steps"]}
    assert planned["worker-0"] == max(CPUS // 2, 1)
    assert masks(run)["worker-0"] == planned["worker-0"]
    over(run)


def test_a_command_runs_in_the_container_of_a_step(site: Site) -> None:
    run = site.up(text=AGGREGATE)
    script = 'echo "$LAUNCH_IP $CUDA_VISIBLE_DEVICES"; ls -d /usr/local/bin/smg'
    said = site.launch("exec", run.name, "worker-1", "--", "sh", "-c", script).stdout.split("\n")
    assert said[:2] == ["10.77.1.102 0,1,2,3,4,5,6,7", "/usr/local/bin/smg"]
    # Its home is the step's: the root is read-only.
    cached = site.launch("exec", run.name, "worker-1", "--", "sh", "-c", 'touch "$HOME/cached" && echo "$HOME"').stdout
    assert (cached, (run.path / "home/worker-1/cached").exists()) == ("/launch/home/worker-1\n", True)
    site.launch("down", run.name)


@pytest.mark.parametrize("how", ["scancel", "supervisor", "keeper"])
def test_however_it_ends_nothing_stays_on_the_nodes(site: Site, how: str) -> None:
    run = site.up(text=AGGREGATE)
    if how == "scancel":
        site.bed.ask("scancel", run.job)
    else:
        pid = run.heard("begin")["pid" if how == "supervisor" else "keeper"]
        site.bed.run(["kill", "-9", str(pid)], user="root")
    assert run.outcome()["state"] in ("cancelled", "broken")
    run.gone()
    assert leavings(run) == []


def test_an_image_that_vanished_is_named(site: Site) -> None:
    text = site.file.read_text()
    path = json.loads(json.dumps(text)).partition('sim = "')[2].partition('"')[0]
    gone = Path(path).with_name("gone" + Path(path).suffix)
    shutil.copy(path, gone)
    site.file.write_text(text.replace(path, str(gone)))
    blocker = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=3", "--exclusive", user="user")
    site.bed.wait(blocker, "RUNNING")
    run = site.started(text=AGGREGATE)
    gone.unlink()
    site.bed.ask("scancel", str(blocker))
    outcome = run.outcome()
    assert outcome["exit"] == 1
    # Which nodes the job gets is Slurm's to say.
    assert f"`{gone}` does not exist on node" in outcome["cause"]
