"""Options of `sbatch` and `srun`: which Slurm knows beside those the launcher sets, and the words they become."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from launcher.model.catalogue import Catalogue, Flag, guess, words
from launcher.model.library import Library
from launcher.model.recipe import FlagValue

Options = Mapping[str, FlagValue]

PROGRAMS = ("sbatch", "srun")
"""Programs whose options a recipe and a cluster may add to, by the names of their tables."""


class Queue(Protocol):
    """What says where a job waits, and on whose account: `[slurm]` of a cluster, or a batch."""

    @property
    def partition(self) -> str | None:
        """The partition, or several."""

    @property
    def account(self) -> str | None:
        """The account that is charged."""

    @property
    def qos(self) -> str | None:
        """The quality of service."""


def queued(queue: Queue) -> tuple[str, ...]:
    """The words that say where a job waits, and on whose account."""
    wishes = {"partition": queue.partition, "account": queue.account, "qos": queue.qos}
    return tuple(f"--{name}={value}" for name, value in wishes.items() if value is not None)


def known(library: Library, program: str, version: str | None) -> tuple[Catalogue, ...]:
    """The catalogues that tell what `program` of that version of Slurm takes; raises Refused for a broken one.

    Options come and go with releases (24.05, 24.11), not within them: one of the same release says all. Else an
    option counts as known if the release before or the one after has it; if the version is not said, if any has.
    """
    found = [each for name in library.versions(program) if (each := library.catalogue(program, name)) is not None]
    if version is None:
        return tuple(found)
    wanted = _release(version)
    same = [each for each in found if _release(each.version) == wanted]
    if same:
        return tuple(same[-1:])
    before = [each for each in found if _release(each.version) < wanted]
    after = [each for each in found if _release(each.version) > wanted]
    return (*before[-1:], *after[:1])


def _release(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


def option(catalogues: Sequence[Catalogue], key: str) -> Flag | None:
    """The option that `key` names (long, without dashes), or None; `e` and `exclud` are none."""
    found = (catalogue.flags.get(f"--{key}") for catalogue in catalogues)
    return next((flag for flag in found if flag is not None), None)


def plain(value: FlagValue) -> FlagValue:
    """`value` with numbers as text: to Slurm every value is one."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value if isinstance(value, bool) or not isinstance(value, int | float) else str(value)


def spell(catalogues: Sequence[Catalogue], options: Options) -> list[str]:
    """The words of all options in their order; one that is not known by its value's type."""
    return [
        word
        for key, value in options.items()
        for word in words(option(catalogues, key) or guess(key, plain(value)), plain(value))
    ]
