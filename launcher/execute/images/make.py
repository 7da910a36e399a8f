"""The ways an image file is made: of its layers, here or in a small job; by `enroot import`; by Apptainer."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from launcher.execute import bundle
from launcher.execute.images import convert, sif
from launcher.execute.images.built import Built
from launcher.execute.images.convert import Order
from launcher.execute.images.enroot import Enroot
from launcher.execute.images.failure import Failure
from launcher.execute.images.fetch import Fetched
from launcher.execute.images.place import Here, Job
from launcher.execute.images.registry import Registry, Remote
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images import enroot
from launcher.images.reference import Reference
from launcher.run import files

BLOBS = sif.BLOBS
"""Where layers are, in the folder of a draft."""

USUAL = "zstd"
"""What files are compressed by where the cluster says nothing else."""

By = Literal["layers", "enroot"]
"""What makes a `.sqsh` file."""


@dataclass(frozen=True)
class Draft:
    """An image file to be made as `part`; `layers` is a folder for what it takes, `lock` the descriptor of its lock."""

    wanted: Reference
    remote: Remote
    part: Path
    layers: Path
    lock: int

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.wanted.repository}{self.wanted.version}"


@dataclass(frozen=True)
class Maker:
    """How image files are made. `job` is where, None for this machine; `progress` hears how far it is."""

    world: World
    registry: Registry
    compressor: str = USUAL
    suffix: Literal[".sqsh", ".sif"] = ".sqsh"
    by: By = "layers"
    job: Job | None = None
    progress: Told = unheard

    def make(self, draft: Draft) -> Mapping[str, str]:
        """Makes the file; returns what is worth noting of how. Raises Failure and OSError."""
        if self.by == "enroot":
            place = self.job or Here(self.world)
            # To ask a node would be a job of its own.
            stated = self.job.cluster.versions.enroot if self.job else None
            found = Enroot(self.world, self.registry, place, draft.layers, self.compressor, stated)
            told = self._telling(draft)
            version = found.make(draft.wanted, draft.remote, draft.part, told, draft.lock)
            return {"with": f"enroot {version}"}
        fetched = Fetched(self.registry, draft.wanted, draft.layers / BLOBS, self._count(draft))
        try:
            fetched.begin(tuple(reversed(draft.remote.manifest.layers)))
            if self.suffix == ".sqsh" and self.job is None:
                self._here(draft, fetched)
                return {}
            fetched.wait()
        finally:
            fetched.close()
        (self._sif if self.suffix == ".sif" else self._there)(draft)
        return {}

    def _here(self, draft: Draft, fetched: Fetched) -> None:
        try:
            convert.squash(fetched, self._order(draft), self.world.environ, lambda number: None)
        except Failure:
            # Layers are read before they are known to be what was asked for: then that is the cause.
            fetched.judge()
            raise

    def keep(self, draft: Draft, built: Built) -> None:
        """Makes the file of an image that was built here, and here. Raises Failure and OSError."""
        if self.suffix == ".sqsh":
            convert.squash(built, self._order(draft), self.world.environ, lambda number: None)
            return
        sif.arrange(built.layout, built.documents)
        sif.build(self.world, built.layout, draft.part, self.compressor)

    def _order(self, draft: Draft) -> Order:
        config = draft.remote.config
        return Order(
            out=str(draft.part),
            compressor=self.compressor,
            layers=draft.remote.manifest.layers,
            added=tuple(enroot.files(config, str(draft.wanted))),
            folders=(config.workdir,) if config.workdir else (),
            blobs=str(draft.layers / BLOBS),
        )

    def _there(self, draft: Draft) -> None:
        """On a node: whatever its architecture, it has a Python for our own program."""
        program, order = draft.layers / "convert.pyz", draft.layers / "order.json"
        files.write(str(program), bundle.converter())
        files.write(str(order), convert.dump(self._order(draft)))
        python = self.job.python if self.job else sys.executable
        place, words = self.job or Here(self.world), (python, str(program), str(order))
        ran = place.run(words, {}, self._hearing(draft), draft.lock)
        if ran.exit != 0:
            lines = ran.out.splitlines() or ["it said nothing"]
            told = next((found for line in lines if (found := convert.failure(line))), None)
            raise told or Failure("faulty", f"the image could not be made: {lines[-1]}")

    def _sif(self, draft: Draft) -> None:
        sif.arrange(draft.layers, self.registry.documents(draft.wanted, draft.remote))
        if self.job is None:
            sif.build(self.world, draft.layers, draft.part, self.compressor)
            return
        words = sif.words(sif.PROGRAMS[0], draft.layers, draft.part)
        env = sif.variables(draft.layers, self.compressor)
        ran = self.job.run(words, env, self._telling(draft), draft.lock)
        sif.check(ran.exit, ran.out, draft.layers)

    def _telling(self, draft: Draft) -> Told:
        return lambda line: self.progress(f"{draft.name}: {line}")

    def _hearing(self, draft: Draft) -> Told:
        count = len(draft.remote.manifest.layers)

        def hear(line: str) -> None:
            number = convert.layer(line)
            self.progress(f"{draft.name}: " + (line if number is None else f"layer {count - number} of {count}"))

        return hear

    def _count(self, draft: Draft) -> Callable[[int], None]:
        come, whole = 0, draft.remote.manifest.size

        def count(size: int) -> None:
            nonlocal come
            come += size
            self.progress(f"{draft.name}: {come >> 20} of {whole >> 20} MiB")

        return count
