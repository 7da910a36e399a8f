"""What somebody meant who wrote a flag that the program has not."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from launcher.model.catalogue import Catalogue
from launcher.model.kin import Kin

Nearest = Callable[[str, Iterable[str]], str | None]


class Hint(NamedTuple):
    """What to write instead (`help`), why that is believed (`notes`), and the key, where there is no doubt.

    `key` is the program's flag that the help names.
    """

    help: str | None = None
    notes: tuple[str, ...] = ()
    rename: str | None = None
    key: str | None = None


def meant(kin: Kin | None, catalogue: Catalogue, key: str, nearest: Nearest) -> Hint:
    """The first that knows: the program's own spelling of the same letters, what it said when it still had the
    flag, the reviewed names, other versions and programs, and last what is spelt like it.
    """
    bare = key.lstrip("-")
    for source in (_alike, _deprecated, _moved, _same):
        hint = source(kin or Kin(), catalogue, bare)
        if hint is not None:
            return hint
    known = tuple(_versions(kin, catalogue, bare)) if kin else ()
    foreign = _foreign(kin, bare) if kin and not known else None
    if foreign is not None:
        return Hint(None, (foreign,))
    near = catalogue.suggest(key, nearest)
    return Hint(f"did you mean `{near}`?" if near else None, known, key=near)


def _alike(kin: Kin, catalogue: Catalogue, key: str) -> Hint | None:
    """Dashes for underscores, or capitals, or dashes in front."""
    found = catalogue.alike(key)
    return Hint(f"did you mean `{found}`?", (), found, found) if found else None


def _deprecated(kin: Kin, catalogue: Catalogue, key: str) -> Hint | None:
    """What another version of the program says to use in its place, the newest that says so."""
    for other in reversed(kin.versions):
        flag = other.exactly(key)
        if flag is None or not flag.instead:
            continue
        target = flag.instead.lstrip("-")
        renamed = catalogue.find(target)
        note = f"{other.program} {other.version} has it, and says to use `{target}` instead"
        same = renamed is not None and (renamed.kind, renamed.arity) == (flag.kind, flag.arity)
        return Hint(f"use `{target}`", (note,), target if same else None, target)
    return None


def _moved(kin: Kin, catalogue: Catalogue, key: str) -> Hint | None:
    """What became of a flag, as somebody found out."""
    known = kin.names.moved.get(catalogue.program, {})
    told = known.get(key) or known.get(key.partition(".")[0])
    return Hint(told, tuple(_versions(kin, catalogue, key))) if told else None


def _same(kin: Kin, catalogue: Catalogue, key: str) -> Hint | None:
    """What this program calls a flag of another one."""
    names = kin.names
    for group in names.same:
        owner = next(
            (program for program, flag in group.items() if flag == key and program != engine(catalogue.program)), None
        )
        own = group.get(catalogue.program) or group.get(engine(catalogue.program))
        if owner is not None and own is not None and catalogue.find(own.partition(" ")[0]) is not None:
            told = f"`{key}` is {names.title(owner)}'s; {names.title(engine(catalogue.program))}'s is `{own}`"
            return Hint(told, tuple(_versions(kin, catalogue, key)), key=own.partition(" ")[0])
    return None


def engine(program: str) -> str:
    """The program whose flags this one takes: Dynamo's workers (`dynamo.vllm`) take those of their engine too."""
    return program.rpartition(".")[2]


def _foreign(kin: Kin, key: str) -> str | None:
    """Which other programs have such a flag."""
    having = [other for other in kin.others if other.exactly(key)]
    # A worker of Dynamo takes all flags of its engine, which is whose they are.
    owners = [other for other in having if "." not in other.program] or having
    titles = [f"{kin.names.title(other.program)} {other.version}" for other in owners]
    if not titles:
        return None
    return f"{' and '.join(titles[:3])} {'has' if len(titles) == 1 else 'have'} such a flag"


def _versions(kin: Kin, catalogue: Catalogue, key: str) -> Iterator[str]:
    having = [other.version for other in kin.versions if other.exactly(key)]
    if having:
        yield f"{catalogue.program} {', '.join(having)} {'has' if len(having) == 1 else 'have'} it"
