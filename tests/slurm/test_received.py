"""What the testbed's `srun` receives from the supervisor is the golden text, for every recipe and cluster.

Slurm's own `srun` parses each line and starts the step on its nodes. There the stand-in for pyxis notes what a task
would have been started with, instead of starting it: images and programs of real clusters are not here.
"""

import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from launcher.run.script import Script, bind, dump
from tests.golden.test_golden import CASES, HERE, made
from tests.slurm import starter
from tests.testbed import plugin
from tests.testbed.bed import Bed
from tests.testbed.layout import Layout
from tests.testbed.place import PROJECT
from tests.testbed.slurm import bed as started

SLURM = sorted(name for name in CASES if not name.endswith("-local"))
NODES = 6
BLOCK = re.compile(r"^  (srun \\\n.*?)(?=\n  stop |\n#)", re.DOTALL | re.MULTILINE)

Words = tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """One task as its node was told of it."""

    words: Words
    env: Mapping[str, str]
    options: Words

    @property
    def about(self) -> tuple[str, str, Words, Words]:
        """Step, node, words, options of the container."""
        return self.env["SLURM_JOB_NAME"], self.env["SLURMD_NODENAME"], self.words, self.options


@dataclass
class Noted:
    """All that came: what `srun`s were told, their tasks, the exit codes of each run and its late references."""

    words: list[Words] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    codes: Mapping[str, list[int]] = field(default_factory=dict)
    slots: dict[str, dict[str, str]] = field(default_factory=dict)

    def of(self, name: str) -> list[Words]:
        """What the `srun`s of a run were told."""
        return [words for words in self.words if job_name(words).endswith(f"@{name}")]


@cache
def script(name: str) -> Script:
    """The Script of a case."""
    return made(name)[2]


def sizes(name: str) -> tuple[int, ...]:
    """The nodes of the job that a case runs in: all there are, but of a heterogeneous one each component's."""
    batch = made(name)[0].batch
    assert batch is not None
    found = tuple(each.nodes for each in batch.components)
    return found if len(found) > 1 else (NODES,)


def value(words: Sequence[str], option: str) -> str:
    return next(word for word in words if word.startswith(f"--{option}=")).partition("=")[2]


def job_name(words: Sequence[str]) -> str:
    return value(words, "job-name")


@pytest.fixture(scope="module")
def noted() -> Iterator[Noted]:
    layout = Layout(nodes=NODES, pyxis=("record={root}/shared/noted",))
    with started(layout, plugin.plugin()) as bed:
        folder = bed.shared / "noted"
        folder.mkdir()
        folder.chmod(0o777)
        yield _noted(bed, folder)


def _noted(bed: Bed, folder: Path) -> Noted:
    """One allocation has all nodes; a heterogeneous job has one of its own beside it."""
    found = Noted()
    share = ["--ntasks-per-node=1", "--cpus-per-task=16", "--job-name=held"]
    wanted, jobs = {name: sizes(name) for name in SLURM}, {}
    for each in set(wanted.values()):
        parts = [word for nodes in each for word in (":", f"--nodes={nodes}", *share)][1:]
        jobs[each] = int(bed.run(["sbatch", "--parsable", "--output=/dev/null", *parts, "--wrap=sleep 600"]).stdout)
    for job in jobs.values():
        bed.wait(job, "RUNNING")
    for name, each in wanted.items():
        found.slots[name] = _slots(bed, name, jobs[each])
        _place(Path(found.slots[name]["run"]), bind(script(name), found.slots[name]))
    names = sorted({each for name in SLURM for child in script(name).children for each in child.env_from})
    words = [sys.executable, "-m", "tests.slurm.starter", str(bed.shared / "runs")]
    done = bed.run(words, env={each: secret(each) for each in names}, cwd=PROJECT, timeout=300)
    assert done.returncode == 0, done.stderr
    found.codes = json.loads(done.stdout)
    found.words = [tuple(_parts(path)) for path in folder.glob("srun.*")]
    found.tasks = [_task(_parts(path)) for path in folder.glob("task.*")]
    return found


def secret(name: str) -> str:
    return f"of the shell, \"{name}\" 'to the byte'"


def _slots(bed: Bed, name: str, job: int) -> dict[str, str]:
    lines = [line.split() for line in bed.ask("squeue", "--noheader", f"--jobs={job}", "--format=%A %N").splitlines()]
    hosts = [host for _, nodes in sorted(lines) for host in bed.ask("scontrol", "show", "hostnames", nodes).split()]
    slots = {"run": str(bed.shared / "runs" / name), "id": name, "job": str(job)}
    slots |= {"jobs": ",".join(sorted(line[0] for line in lines)), "path": "/bin", "user": "alice", "home": "/home/a"}
    slots |= {f"host{number}": host for number, host in enumerate(hosts)}
    return slots | {f"ip{number}": f"10.0.0.{number}" for number in range(len(hosts))}


def _place(run: Path, bound: Script) -> None:
    for folder in (run, run / "logs"):
        folder.mkdir(parents=True)
        folder.chmod(0o777)
    (run / "script.json").write_text(dump(bound))


def _parts(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]


def _task(parts: list[str]) -> Task:
    """Two lists with their lengths before them, then the options."""
    words, rest = parts[1 : 1 + int(parts[0])], parts[1 + int(parts[0]) :]
    env = rest[1 : 1 + int(rest[0])]
    return Task(tuple(words), dict(each.split("=", 1) for each in env), tuple(rest[1 + int(rest[0]) :]))


def golden(name: str, slots: Mapping[str, str]) -> list[Words]:
    """The words of every `srun` in the golden text, late references as they are here."""
    first = script(name).children[0].name
    found = []
    for block in BLOCK.findall((HERE / f"{name}.script.txt").read_text()):
        words = [shown(word, slots) for word in shlex.split(block.replace(" \\\n    ", " "))]
        found.append(tuple(words) if words[-1] != "..." else (*words[:-1], starter.ABOUT, first))
    return found


def shown(word: str, slots: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda mark: slots.get(mark[1], mark[0]), word)


@pytest.mark.parametrize("name", SLURM)
def test_what_srun_receives_is_golden(noted: Noted, name: str) -> None:
    assert set(noted.codes[name]) == {0}
    assert sorted(noted.of(name)) == sorted(golden(name, noted.slots[name]))


def wanted(words: Words) -> Iterator[tuple[str, str, Words, Words]]:
    """The tasks that the words of an `srun` ask for, one by one."""
    cut = words.index("--")
    command, options = words[cut + 1 :], words[1:cut]
    parts: list[list[str]] = [[]]
    for word in options:
        parts.append([]) if word == ":" else parts[-1].append(word)
    for part in parts:
        nodes = value(part, "nodelist").split(",")
        assert int(value(part, "nodes")) == len(nodes)
        for node in nodes * (int(value(part, "ntasks")) // len(nodes)):
            yield job_name(part), node, command, tuple(_container(part))


def _container(options: Sequence[str]) -> Iterator[str]:
    """The options of pyxis, as the node hears of them."""
    said = {word[2:].partition("=")[0]: word.partition("=")[2] for word in options}
    yield from (f"{name}={said[f'container-{name}']}" for name in ("image", "name") if f"container-{name}" in said)
    for name in ("mounts", "env"):
        listed = said.get(f"container-{name}")
        yield from (f"{name.removesuffix('s')}={each}" for each in (listed.split(",") if listed else ()))
    yield from (f"{name}={said[f'container-{name}']}" for name in ("workdir",) if f"container-{name}" in said)
    yield from (f"no-{name}" for name in ("mount-home", "entrypoint") if f"no-container-{name}" in said)
    yield from ("no-remap-root" for _ in range("no-container-remap-root" in said))
    yield from ("writable" for _ in range("container-writable" in said))
    yield from ("no-writable" for _ in range("container-readonly" in said))


@pytest.mark.parametrize("name", SLURM)
def test_what_nodes_are_told_is_what_srun_received(noted: Noted, name: str) -> None:
    tasks = Counter(task.about for task in noted.tasks if task.env["SLURM_JOB_NAME"].endswith(f"@{name}"))
    assert tasks == Counter(each for words in noted.of(name) for each in wanted(words))


@pytest.mark.parametrize("name", SLURM)
def test_variables_reach_the_nodes_to_the_byte(noted: Noted, name: str) -> None:
    for child in bind(script(name), noted.slots[name]).children:
        env = {**{child.env_prefix + each: secret(each) for each in child.env_from}, **child.env}
        tasks = [task for task in noted.tasks if task.env["SLURM_JOB_NAME"] == f"{child.name}@{name}"]
        assert tasks
        for task in tasks:
            assert {each: task.env.get(each) for each in env} == env
