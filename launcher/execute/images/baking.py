"""A preamble baked into an image file of the store: in a small job on a compute node, or by Apptainer here.

The file is called by what it is made from: the image, the preamble and what counts for it (`model.bake`). What is
under way is in a folder with a dot in front, which nobody but the user can read, and which is gone at the end however
that comes. A step that failed has often saved something (pyxis does whatever becomes of the preamble), so nothing is
taken but what three tell to be whole: exit code, pyxis's own word, the file's header.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from launcher.execute.images import compute, job, remains
from launcher.execute.images.failure import Failure
from launcher.execute.images.job import Ended
from launcher.execute.images.locks import digest
from launcher.execute.images.place import srun
from launcher.execute.images.store import Store, facts
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images.reference import File, Reference, parse
from launcher.model import timelimit
from launcher.model.bake import mark
from launcher.model.cluster import Cluster
from launcher.model.job import Role
from launcher.model.option import queued
from launcher.render import bake as words
from launcher.render.bake import Baking
from launcher.render.sbatch import INHERIT
from launcher.run import account, files
from launcher.run.child import environment
from launcher.run.script import Child
from launcher.run.words import OWNERS, UNFINISHED
from launcher.text.encoded import inside

ROOM = 3
"""Free bytes that are wanted for each of the image that is baked: its root may well be stored less packed."""

SAVED = "pyxis: exported container"
"""What pyxis says when it has saved a root; a failure to save does not change the exit code (pyxis 0.24)."""

_STEP = ("--kill-on-bad-exit=1", "--mpi=none", "--cpu-bind=none", "--unbuffered")

SECRET = 6
"""Characters of the shortest secret."""

How = Literal["slurm", "apptainer"]
"""In a job on a compute node, or by Apptainer on this machine."""


@dataclass(frozen=True)
class Baked:
    """An image with a preamble in it, as an alias has it. `env` is what that exported; `made` whether just now."""

    image: str
    env: Mapping[str, str]
    made: bool


@dataclass
class Oven:
    """Bakes preambles of roles on `cluster`, into `store`; a preamble may take `limit` seconds."""

    world: World
    store: Store
    cluster: Cluster
    how: How
    limit: float
    told: Told = unheard
    progress: Told = unheard
    _base: dict[str, str] = field(default_factory=dict)

    def path(self, role: Role, text: str, setup: str) -> Path:
        """Where the image `text` with the preamble of that digest is, or will be. Raises Failure and OSError."""
        made = mark(self._identity(text), setup)
        return self.store.place(f"{role.image}-baked", made)

    def bake(self, role: Role, text: str, setup: str, *, again: bool = False) -> Baked:
        """The image `text` with the role's preamble in it, made where it is not there.

        Raises Failure and OSError.
        """
        path, done = self.path(role, text, setup), []

        def make(lock: int) -> None:
            self._make(role, text, setup, path)
            done.append(path)

        def good(path: Path) -> bool:
            return not (again and not done) and self.store.good(path) and "env" in facts(path)

        self.store.once(path, f"baking {role.image}", make, good)
        return Baked(str(path), facts(path)["env"], bool(done))

    def file(self, text: str) -> str:
        """The image as a file, fetched into the store where it is a registry's. Raises Failure and OSError."""
        source = parse(text)
        if isinstance(source, File):
            return source.path
        if isinstance(source, Reference):
            return str(self.store.ensure(source, self.cluster.arch or ""))
        message = f"`{text}` is in a daemon's store on the nodes"
        raise Failure("faulty", message, "bake an image of a registry, or a file")

    def _identity(self, text: str) -> str:
        """What tells an image from every other: a digest, or of a file that only nodes see its size."""
        if text not in self._base:
            source = parse(text)
            if isinstance(source, Reference):
                self._base[text] = self.store.found(source, self.cluster.arch or "")[1].manifest.digest
            else:
                self._base[text] = self._content(Path(self.file(text)))
        return self._base[text]

    def _content(self, path: Path) -> str:
        known = facts(path).get("sha256")
        if isinstance(known, str) and self.store.good(path):
            return known
        try:
            return digest(path, self.progress)
        except FileNotFoundError:
            if self.how != "slurm":
                raise
        found = compute.look(self.world, str(path), queued(self.cluster.slurm))
        return f"{path} {found.size}"

    def _make(self, role: Role, text: str, setup: str, path: Path) -> None:
        base = self.file(text)
        size = Path(base).stat().st_size if Path(base).exists() else 0
        self.store.room(ROOM * size, path)
        work = path.with_name(f".{path.stem}.bake")
        name = f"launch-{path.stem}"
        if self.how == "slurm":
            job.cancel(self.world, name)  # of one that died; whoever has the lock is alone
        remains.remove(work)
        work.mkdir(mode=0o700)
        try:
            baking = Baking(role, base, str(work), str(work / f"image{path.suffix}"))
            for each in words.files(baking, self.cluster):
                files.write(str(work / each.path), (each.text or "").encode(), 0o600)
            self._run(baking, name)
            looks = ((work / name).read_bytes() for name in (words.BEFORE, words.AFTER))
            env = kept(self.world, role, *looks)
            told = {"base": text, "setup": setup, "env": env, "arch": self.cluster.arch or ""}
            self.store.publish(Path(baking.out), path, told)
        finally:
            remains.remove(work)

    def _run(self, baking: Baking, name: str) -> None:
        slurm = self.how == "slurm"
        # Of two limits `srun` heeds the latter. A job may wait before it begins, so that Slurm alone can tell.
        limit = f"--time={timelimit.spelt(math.ceil(self.limit))}"
        before = (*srun(self.world, self.cluster, name), *_STEP, limit) if slurm else ()
        known = {key.lower(): value for key, value in account.known(self.world.environ).items()}
        child = words.child(baking, self.cluster, known, before)
        where = "in a job" if slurm else "on this machine"
        self.told(f"baking `{baking.role.image}` with the preamble of `{baking.role.name}`, {where}")
        env = self._environment(child, baking.folder)
        hidden = secrets(self.world, baking.role)

        def hear(line: str) -> None:
            self.progress(job.hidden(line, hidden))

        def end() -> None:
            if slurm:
                job.cancel(self.world, name)

        ended = job.run(child.argv, env, hear, end, None if slurm else self.limit)
        folder, looks = Path(baking.folder), (words.BEGUN, words.BEFORE, words.AFTER)
        judged(baking.role, ended, frozenset(name for name in looks if (folder / name).exists()), hidden)
        if self.cluster.runtime == "pyxis" and not any(line.strip().startswith(SAVED) for line in ended.lines):
            failed = [line for line in ended.lines if "export" in line or "[ERROR]" in line]
            raise Failure("faulty", f"pyxis did not save the root: {'; '.join(failed)}", "is the disk full?")

    def _environment(self, child: Child, folder: str) -> Mapping[bytes, bytes]:
        own = {os.fsencode(key): os.fsencode(value) for key, value in self.world.environ.items()}
        return environment(child, (*INHERIT, *self.cluster.inherit), folder, own)


def judged(role: Role, ended: Ended, looks: frozenset[str], hidden: list[str]) -> None:
    """Raises Failure unless the preamble ran to its end; `looks` are those at the environment that there are."""
    said = [job.hidden(line, hidden) for line in ended.lines if line not in map(UNFINISHED.__mod__, OWNERS)]
    last = "; ".join(line for line in said[-4:] if line.strip())
    begun = words.BEGUN in looks
    if ended.exit != 0:
        job.refused(said, begun=begun)
    if not begun:
        raise Failure("faulty", f"the container of `{role.image}` did not start: {last or 'nothing was said'}")
    if ended.exit != 0 or words.AFTER not in looks:
        why = f"ended with exit code {ended.exit}" if ended.exit else "ended before its end, without an error"
        whose = "the cluster's preamble" if UNFINISHED % "cluster" in ended.lines else f"the preamble of `{role.name}`"
        message = f"{whose} {why}: {last or 'it said nothing'}"
        raise Failure("faulty", message, "nothing was changed")


def kept(world: World, role: Role, before: bytes, after: bytes) -> Mapping[str, str]:
    """What the preamble exported. Raises Failure for what may not be kept, or cannot be."""
    found, gone = words.exported(before, after), words.taken(before, after)
    if gone:
        names = ", ".join(f"`{name}`" for name in gone)
        message = f"the preamble of `{role.name}` unsets {names}, which an image cannot"
        raise Failure("faulty", message, "leave that out of it")
    for name, value in found.items():
        if any(inside(secret, value) for secret in secrets(world, role)):
            message = f"the preamble of `{role.name}` exports `{name}` with a value of `env_from` in it"
            raise Failure("faulty", message, f"`unset {name}` at its end: nobody wants a secret in an image")
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise Failure("faulty", f"the preamble of `{role.name}` exports `{name}`, which is not UTF-8")
    return found


def secrets(world: World, role: Role) -> list[str]:
    """Values that come from the submitting shell; what is as short as `1` or `true` is no secret."""
    values = (world.environ.get(key, "") for key in role.env_from)
    return [value for value in values if len(value) >= SECRET]
