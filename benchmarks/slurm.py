"""`make bench-slurm`: what `launch` adds to Slurm, on the testbed of the tests; writes `benchmarks/slurm.md`.

As root, like the tests of `tests/slurm`: it starts a real Slurm of four nodes on this machine.
"""

import json
import os
import resource
import shlex
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.run import Limit, machine, promises
from tests.slurm.deployment import RECIPE, Deployed, Site
from tests.testbed.bed import Bed, until
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started
from tests.testbed.slurm import version

RESULTS = Path(__file__).with_name("slurm.md")
ROUNDS = 7
STEPS = 256
KILL_WAIT = 5

CLUSTER = """\
schema = 1
name = "bed"
runtime = "none"
python = "{python}"
runs = "{shared}/$USER/runs"
interface = "eth0"

[slurm]
kill_wait = 5

[node]
gpus = 64
cpus = 64
memory = "60000M"
gpu_request = "none"

[images]
smg = "{environment}"
"""

MANY = f"""\
schema = 1
name = "many"

[model]
served_name = "tiny"

[roles.worker]
manifest = "sim"
gpus = 1

[roles.sleeper]
manifest = "sleeper"
gpus = 1
replicas = {STEPS - 1}

[ready]
timeout = "10m"
"""

SLEEPER = """\
schema = 1
name = "sleeper"
about = "a step that only waits"
kind = "service"
[program]
command = ["sleep", "3600"]
"""


def submission(site: Site) -> tuple[float, float, float]:
    """Seconds from the start of `launch up` until its job is known, those of `sbatch` alone, CPU of `up`: medians."""
    recipe = site.recipe(RECIPE.replace("gpus = 8", "gpus = 64"))
    ours, theirs, cpu = [], [], []
    for _ in range(ROUNDS):
        began, before = time.time(), used()
        site.launch("up", recipe, "--detach")
        cpu.append(used() - before)
        run = site.last()
        ours.append((run.path / "job.json").stat().st_mtime - began)
        site.bed.ask("scancel", run.job)
        words = json.loads((run.path / "submission.json").read_text())["argv"]
        began = time.time()
        done = site.bed.run(words)
        theirs.append(time.time() - began)
        site.bed.ask("scancel", done.stdout.strip())
    site.bed.clear()
    return statistics.median(ours), statistics.median(theirs), statistics.median(cpu)


def used() -> float:
    """CPU seconds of the children of this process that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def notes(folder: Path) -> list[float]:
    """When each step noted its pid."""
    return [path.stat().st_mtime for path in folder.glob("*.*.*")]


def many(site: Site) -> tuple[float, float]:
    """Seconds from the first step's start until all run, by the supervisor and by a loop of `srun … &`."""
    (site.folder / "manifests").mkdir()
    site.write("manifests/sleeper.toml", SLEEPER)
    run = site.up(text=MANY)
    pids = run.path / "pids"
    own = until(lambda: found if len(found := notes(pids)) == STEPS else None, timeout=600)
    begun = min(_epoch(event["at"]) for event in run.events if event["event"] == "start" and "." not in event["step"])
    children = json.loads((run.path / "bound.json").read_text())["children"]
    lines = [child["argv"] for child in children if child["role"]]
    site.launch("down", run.name)
    site.bed.clear()
    return max(own) - begun, _bare(site, run, lines)


def _bare(site: Site, run: Deployed, lines: Sequence[Sequence[str]]) -> float:
    """The same words in a batch script of their own."""
    pids = run.path / "pids"
    for path in pids.glob("*.*.*"):
        path.unlink()
    # The job is another: its number is the shell's to fill in.
    loop = [shlex.join(each).replace(f"--jobid={run.job} ", '"--jobid=$SLURM_JOB_ID" ') for each in lines]
    begun = site.folder / "begun"
    script = "\n".join(["#!/bin/bash", f"touch {begun}", *(f"{line} &" for line in loop), "wait", ""])
    job = site.bed.submit(script, "--nodes=4", "--exclusive")
    theirs = until(lambda: found if len(found := notes(pids)) == STEPS else None, timeout=600)
    site.bed.ask("scancel", str(job))
    site.bed.clear()
    return max(theirs) - begun.stat().st_mtime


def ending(site: Site) -> tuple[float, float]:
    """Seconds until a killed worker is noticed, and from then until all is torn down: the worst of some runs."""
    noticed, torn = [], []
    for _ in range(3):
        run = site.up(text=RECIPE.replace("gpus = 8", "gpus = 64"))
        killed = time.monotonic()
        os.kill(run.task("worker-1"), signal.SIGKILL)
        run.gone()
        stamps = {event["event"]: event["t"] for event in reversed(run.events)}
        noticed.append(stamps["exit"] - killed)
        torn.append(max(event["t"] for event in run.events) - stamps["exit"])
    return max(noticed), max(torn)


def _epoch(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def report(rows: Sequence[Limit], details: Sequence[str]) -> Iterator[str]:
    """The whole of slurm.md."""
    yield "# Measurements on Slurm"
    yield ""
    python, slurm = (".".join(map(str, sys.version_info[:3])), "{}.{:02}.{}".format(*version()))
    yield f"Written by `make bench-slurm` on {time.strftime('%Y-%m-%d')}: {machine()}; Python {python}, Slurm {slurm}."
    yield "Four nodes on this one machine; whatever else runs on it makes seconds of waiting dearer, CPU hardly."
    yield ""
    yield from promises(rows)
    yield ""
    yield from details


def measured(bed: Bed) -> tuple[list[Limit], list[str]]:
    """The promises, and the figures they come from."""
    site = Site(bed, CLUSTER)
    up, sbatch, cpu = submission(site)
    own, bare = many(site)
    noticed, torn = ending(site)
    rows = [
        ("from `launch up` to a job that is known, beyond `sbatch`", up - sbatch, 0.5, "s"),
        (f"{STEPS} steps started, over a loop of `srun … &`", own / bare, 1.5, "×"),
        ("a killed worker is noticed", noticed, 2.0, "s"),
        ("everything is torn down (KillWait + 2 s)", torn, KILL_WAIT + 2.0, "s"),
    ]
    return rows, [
        f"- `launch up --detach` {up:.2f} s, `sbatch` of the same words {sbatch:.2f} s: medians of {ROUNDS}.",
        f"- CPU of `launch up --detach`, with all it asks Slurm before and `sbatch`: {cpu:.2f} s.",
        f"- {STEPS} steps: {own:.1f} s by the supervisor, {bare:.1f} s by the loop, the same words in both.",
        "- Noticed and torn down: the worst of 3 runs, from the stamps of `events.jsonl`.",
    ]


def main() -> int:
    layout = Layout(cpus=64, networks=("eth0",), kill_wait=KILL_WAIT)
    with started(layout) as bed:
        rows, details = measured(bed)
    text = "\n".join(report(rows, details)) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(found <= limit for _, found, limit, _ in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
