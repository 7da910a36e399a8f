"""Runs the words of a Script on a testbed, as the supervisor would and no cleverer.

What Slurm, pyxis and Apptainer make of them is what is tried.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launcher.execute.bundle import bundle
from launcher.model.cluster import Cluster
from launcher.plan.step import Plan
from launcher.render.sbatch import submission
from launcher.render.script import render
from launcher.run import files
from launcher.run.script import Child, Script, bind, dump, step_name
from tests.testbed.bed import Bed, until

USER = "alice"


@dataclass
class Words:
    """One job and what was started in it. `bound` is the Script with all late references bound."""

    bed: Bed
    run: Path
    job: int
    bound: Script
    facts: list[dict[str, Any]]
    started: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def child(self, name: str) -> Child:
        return next(child for child in self.bound.children if child.name == name)

    def start(self, name: str, shell: Mapping[str, str]) -> None:
        """Start a child with the environment it is to have; `shell` has what it takes by name."""
        child = self.child(name)
        taken = {child.env_prefix + each: shell[each] for each in child.env_from if each in shell}
        words = _alone({**_inherited(self.bed), **taken, **child.env}, child.argv)
        with (self.run / f"logs/{name}.log").open("w") as log:
            self.started[name] = self.bed.start(words, cwd=self.run, stdout=log, stderr=log)

    def wait(self, name: str) -> int:
        """The exit code of a child that ends by itself or was told to."""
        return self.started[name].wait(timeout=120)

    def up(self, shell: Mapping[str, str]) -> None:
        """Start everything in order: what a child comes after has ended, or says that it watches."""
        for child in self.bound.children:
            for other in child.after:
                if not self.child(other).lasting:
                    assert self.wait(other) == 0, self.said(other)
            self.start(child.name, shell)
            if child.last:
                log = self.run / f"logs/{child.name}.log"
                until(lambda log=log: log.read_text().count("watching\n") == len(self.facts) or None)  # type: ignore[misc]

    def said(self, name: str) -> str:
        """What `srun` and the tasks of a child wrote."""
        paths = [self.run / f"logs/{name}.log", *(self.run / path for path in self.child(name).outputs)]
        return "\n".join(f"== {path.name}\n{path.read_text()}" for path in paths if path.exists())

    def reports(self, name: str) -> list[dict[str, Any]]:
        """The line of JSON that each task of a child printed first."""
        found = []
        for output in self.child(name).outputs:
            path = self.run / output
            line = until(lambda path=path: _line(path, self.started[name]))  # type: ignore[misc]
            assert line.startswith("{"), self.said(name)
            found.append(json.loads(line))
        return found

    def tell(self, signal: str, *names: str) -> dict[str, list[int]]:
        """Tell children to end, by one step on each of their nodes; child → pids."""
        told: dict[str, list[int]] = {name: [] for name in names}
        assert self.bound.allocation is not None
        for node in sorted({node for name in names for node in self.child(name).nodes}):
            words = self.bound.allocation.nodes[node].tell
            done = self.ask((*words, signal, *names))
            for name, pids in json.loads(done).items():
                told[name] += pids
        return told

    def signal(self, *names: str) -> None:
        """Send TERM to every process of the steps of these children."""
        assert self.bound.allocation is not None
        steps = self.steps()
        # scancel's exit code says nothing: 225 and "Invalid job id" though it was delivered.
        self.bed.run(_alone(_inherited(self.bed), (*self.bound.allocation.signal, *(steps[name] for name in names))))

    def steps(self) -> dict[str, str]:
        """Child → Slurm's id of its step, of those that run."""
        assert self.bound.allocation is not None
        names = {step_name(child.name, self.run.name): child.name for child in self.bound.children}
        lines = [line.split(" ", 1) for line in self.ask(self.bound.allocation.steps).splitlines()]
        return {names[name]: step for step, name in lines if name in names}

    def ask(self, argv: Sequence[str]) -> str:
        """What a program printed that is run as the supervisor does."""
        done = self.bed.run(_alone(_inherited(self.bed), argv), cwd=self.run)
        assert done.returncode == 0, (argv, done.stderr)
        return done.stdout


def begun(bed: Bed, plan: Plan, cluster: Cluster) -> Words:
    """Submit the job of a plan, its supervisor a program that only waits, and ask its nodes."""
    run = bed.shared / f"small-{len(list(bed.shared.iterdir()))}"
    made, script = submission(plan, cluster), render(plan, cluster)
    slots: dict[str, str] = {"run": str(run), "id": run.name}
    contents = {file.path: files.encode(bind(file, slots)) for file in script.files}
    contents |= {"script.json": dump(script).encode(), "run.pyz": bundle(), "logs/.keep": b""}
    for path, content in {**contents, "job.sh": made.script.encode()}.items():
        files.write(str(run / path), content)
    _give(run)
    argv = bind(made.argv, slots)
    waiting = (*argv[: argv.index(f"{run}/job.sh") + 1], "sleep", "600")
    environment = {name: value for name, value in bed.environment(USER).items() if name in made.inherit}
    done = bed.run(_alone(environment, waiting), cwd=run)
    assert done.returncode == 0, done.stderr
    job = int(done.stdout)
    bed.wait(job, "RUNNING")
    return _met(Words(bed, run, job, script, []), slots)


def _met(words: Words, slots: dict[str, str]) -> Words:
    """Bind what is known of a job once its nodes are."""
    bed, told = words.bed, words.bound.allocation
    # Of a heterogeneous job all components are shown, the last submitted first.
    lines = bed.ask("squeue", "--noheader", f"--jobs={words.job}", "--format=%A %N").splitlines()
    components = dict(sorted((line.split() for line in lines), key=lambda pair: int(pair[0])))
    nodes = [
        name for listed in components.values() for name in bed.ask("scontrol", "show", "hostnames", listed).split()
    ]
    shell = bed.environment(USER)
    slots |= {"job": str(words.job), "jobs": ",".join(components), "user": USER, "home": shell["HOME"]}
    slots |= {"path": shell["PATH"], **{f"host{at}": name for at, name in enumerate(nodes)}}
    assert told is not None
    said = words.ask(bind(told.facts, slots)).splitlines()
    words.facts = sorted((json.loads(line) for line in said), key=lambda fact: int(fact["index"]))
    words.bound = bind(words.bound, slots | {f"ip{at}": fact["ip"] for at, fact in enumerate(words.facts)})
    files.write(str(words.run / "bound.json"), dump(words.bound).encode())
    _give(words.run)
    return words


def ended(words: Words) -> None:
    """Cancel the job and wait until nothing of it is left."""
    words.bed.clear()
    for process in words.started.values():
        process.wait(timeout=60)
    shutil.rmtree(words.run)


def _alone(environment: Mapping[str, str], argv: Sequence[str]) -> list[str]:
    """Words that start `argv` with this environment and no other."""
    return ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *argv]


def _inherited(bed: Bed) -> dict[str, str]:
    names = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "SLURM_CONF")
    return {name: bed.environment(USER)[name] for name in names}


def _line(path: Path, process: subprocess.Popen[str]) -> str | None:
    text = path.read_text() if path.exists() else ""
    if "\n" in text:
        return text.partition("\n")[0]
    return None if process.poll() is None else f"ended: {text}"


def _give(run: Path) -> None:
    """Everything of the run belongs to its user, as if they had written it."""
    uid = 20001
    for path in [run, *run.rglob("*")]:
        os.chown(path, uid, uid)
