"""`launch up` in containers on a real Slurm: the stand-in for pyxis, and the real Apptainer."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.deployment import Deployed, Site
from tests.testbed import apptainer, image, plugin
from tests.testbed.bed import Bed
from tests.testbed.image import Image
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started

PAIR = Image("pair", python=True, distributions=("pip", "smg", "vllm-router"), launcher=True)
"""Python, the simulated engine, and two routers."""

CLUSTER = """\
schema = 1
name = "bed"
runtime = "{{runtime}}"
python = "{python}"
runs = "{shared}/$USER/runs"
interface = "hsn0"

[slurm]
kill_wait = 5

[node]
gpus = 8
cpus = 32
memory = "60000M"
local = "/var/tmp"

[images]
sim = "{{image}}"
smg = "{{image}}"
vllm-router = "{{image}}"
"""

AGGREGATE = """\
schema = 1
name = "aggregate"

[model]
served_name = "tiny"

[roles.worker]
manifest = "sim"
replicas = 2
gpus = 8

[router]
kind = "smg"
setup = "export FROM_SETUP='a b'\\n: >/made-by-the-preamble"

[ready]
timeout = "120s"
"""

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


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    programs = {"enroot": plugin.ENROOT, "apptainer": apptainer.apptainer()}
    with started(Layout(nodes=3, networks=("eth0", "hsn0")), plugin.plugin(), programs) as running:
        yield running


@pytest.fixture(params=["pyxis", "apptainer"])
def site(bed: Bed, request: pytest.FixtureRequest) -> Site:
    bed.clear()
    runtime = request.param
    made = image.squashfs(PAIR) if runtime == "pyxis" else apptainer.sif(PAIR)
    here = bed.shared / made.name
    if not here.exists():
        shutil.copy(made, here)
    text = CLUSTER.format(python=sys.executable, shared="{shared}").replace("{runtime}", runtime)
    return Site(bed, text.replace("{image}", str(here)))


def leavings(run: Deployed) -> list[str]:
    """What the run's job left on the nodes: roots of enroot, folders of overlays, mounts."""
    found = []
    for node in run.site.bed.layout.names:
        for words in (["enroot", "list"], ["ls", "/var/tmp"], ["grep", "-c", f"launch-{run.job}", "/proc/mounts"]):
            said = run.site.bed.run(words, on=node).stdout
            found += [line for line in said.splitlines() if f"launch-{run.job}-" in line]
    return found


@pytest.mark.parametrize("recipe", [AGGREGATE, APART], ids=["smg", "vllm-router prefill/decode"])
def test_a_run_serves_and_leaves_nothing(site: Site, recipe: str) -> None:
    run = site.up(text=recipe)
    assert run.ask()
    site.launch("down", run.name)
    run.gone()
    assert run.outcome()["state"] == "stopped"
    assert leavings(run) == []
    ended = {event["step"]: event.get("exit") for event in run.events if event["event"] == "exit"}
    assert set(ended.values()) == {0}
    assert not [event for event in run.events if event["event"] == "kill"]


def test_a_command_runs_in_the_container_of_a_step(site: Site) -> None:
    run = site.up(text=AGGREGATE)
    script = 'echo "$LAUNCH_IP $CUDA_VISIBLE_DEVICES"; ls -d /usr/local/bin/smg'
    said = site.launch("exec", run.name, "worker-1", "--", "sh", "-c", script).stdout.split("\n")
    assert said[:2] == ["10.77.1.102 0,1,2,3,4,5,6,7", "/usr/local/bin/smg"]
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
    assert f"`{gone}` does not exist on node1" in outcome["cause"]
