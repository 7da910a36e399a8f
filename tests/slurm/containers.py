"""Runs in containers on a testbed: images, a cluster file for each runtime, and what must be gone afterwards."""

import os
import shutil
from pathlib import Path

from launcher.run.script import bind, load
from tests.slurm.deployment import Deployed, Site
from tests.testbed import apptainer, image
from tests.testbed.bed import Bed
from tests.testbed.image import Image

PAIR = Image(
    "pair",
    python=True,
    distributions=("pip", "smg", "vllm-router"),
    launcher=True,
    environment=dict.fromkeys(("COMMON", "BOTH", "KEPT"), "from-image"),
)
"""Python, the simulated engine, and two routers; enroot's images have variables of their own."""

ROUTING = Image("routing", python=True, distributions=("sglang-router",), beside="sglang-router")
"""The router that does not get on with the others."""

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
cpus = {{cpus}}
memory = "60000M"
local = "/var/tmp"

[images]
sim = "{{image}}"
smg = "{{image}}"
vllm-router = "{{image}}"
sglang-router = "{{routing}}"
"""

CPUS = os.cpu_count() or 1
"""Of a node: Slurm binds steps to them here, so there are no more than the machine has."""

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


def site(bed: Bed, runtime: str) -> Site:
    """A cluster file for a runtime, the images as it wants them; nothing runs."""
    values = {"runtime": runtime, "cpus": str(CPUS)}
    for name, which in (("image", PAIR), ("routing", ROUTING)):
        made = image.squashfs(which) if runtime == "pyxis" else apptainer.sif(which)
        here = bed.shared / made.name
        if not here.exists():
            shutil.copy(made, here)
        values[name] = str(here)
    text = CLUSTER.replace("{{", "<").replace("}}", ">")
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    return Site(bed, text)


RECORDER = """\
#!/bin/sh
printf '%s\\0' "$@" >{folder}/$$.$(date +%s%N)
exec {real} "$@"
"""


def recorded(site: Site) -> Path:
    """From now on each `srun` of the site notes its words in a file of this folder before it is one."""
    folder = site.folder / "received"
    programs = site.folder / "bin"
    for path in (folder, programs):
        path.mkdir()
        path.chmod(0o777)
    site.write("bin/srun", RECORDER.format(folder=folder, real=shutil.which("srun"))).chmod(0o755)
    site.env["PATH"] = f"{programs}:{site.bed.environment()['PATH']}"
    return folder


ASKED = (("--help",), ("--mpi=list",))
"""Words of `srun` by which `launch up` asks what there is."""


def as_rendered(run: Deployed, recipe: str, folder: Path) -> None:
    """What `srun` received are the words that `launch render` shows, late references bound, and no others."""
    shown = load(run.site.launch("render", run.site.recipe(recipe), "--json").stdout)
    nodes = range(run.site.bed.layout.nodes)
    slots = {"run": str(run.path), "id": run.name, "job": run.job, "jobs": run.job, "user": run.site.user}
    slots |= {f"host{node}": f"node{node + 1}" for node in nodes} | {
        f"ip{node}": f"10.77.1.{101 + node}" for node in nodes
    }
    slots |= {"home": str(run.site.bed.root / "home" / run.site.user), "path": run.site.env["PATH"]}
    wanted = bind(shown, slots)
    assert wanted.allocation is not None
    received = [tuple(path.read_bytes().decode().split("\0")[:-1]) for path in folder.iterdir()]
    received = [words for words in received if words not in ASKED]
    steps = [child.argv[1:] for child in wanted.children]
    tells = [node.tell[1:] for node in wanted.allocation.nodes]
    told = [words for words in received if any(words[: len(tell)] == tell for tell in tells)]
    assert sorted(words for words in received if words not in told) == sorted([*steps, wanted.allocation.facts[1:]])


def leavings(run: Deployed) -> list[str]:
    """What the run's job left on the nodes: roots of enroot, folders of overlays, mounts."""
    mark = f"launch-{run.job}-{run.name}"
    found = []
    for node in run.site.bed.layout.names:
        for words in (["enroot", "list"], ["ls", "/var/tmp"], ["cat", "/proc/mounts"]):
            said = run.site.bed.run(words, on=node).stdout
            found += [f"{node}: {line}" for line in said.splitlines() if mark in line or str(run.path) in line]
    return found


def masks(run: Deployed) -> dict[str, int]:
    """Role's step → how many CPUs each of its tasks may use, on whatever node it is."""
    found: dict[str, int] = {}
    for path in (run.path / "pids").glob("*.*.*"):
        child, _, pid = path.name.rsplit(".", 2)
        if "." in child:
            continue  # one that prepared a root is over
        status = Path(f"/proc/{pid}/status").read_text()
        mask = next(line for line in status.splitlines() if line.startswith("Cpus_allowed:")).split()[1]
        found[child] = bin(int(mask.replace(",", ""), 16)).count("1")
    return found


def over(run: Deployed) -> None:
    """Ends a run gently: every step by itself, and nothing is left."""
    site = run.site
    site.launch("down", run.name)
    run.gone()
    assert run.outcome()["state"] == "stopped"
    assert leavings(run) == []
    ended = {event["step"]: event.get("exit") for event in run.events if event["event"] == "exit"}
    assert set(ended.values()) == {0}
    assert not [event for event in run.events if event["event"] == "kill"]
