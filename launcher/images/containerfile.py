"""Containerfiles: which instruction a builder was at, by what it says, and which arguments one takes.

Facts: Docker 20.10 says `Step 4/8 : RUN a   && b` and podman 4.3 `[1/2] STEP 3/3: RUN a   && b`, lines that go on
joined, arguments as they are written. Docker counts what comes before the first `FROM`, podman does not.
"""

import re
from collections.abc import Iterator

from launcher.run.record import record

_STEP = re.compile(r"(?:\[\d+/\d+\] )?(?:Step|STEP) \d+/\d+ ?: (?P<words>.+)", re.DOTALL)
_FROM = re.compile(r"FROM\s", re.IGNORECASE)
_ARG = re.compile(r"ARG\s+(?P<name>\w+)", re.IGNORECASE)
_COPY = re.compile(r"COPY\s+--from=", re.IGNORECASE)
_PLAIN = re.compile(r"(ARG|FROM)\s", re.IGNORECASE)
_STAGE = re.compile(r"FROM\s+(?:--\S+\s+)*(?P<image>\S+)(?:\s+AS\s+(?P<name>\S+))?", re.IGNORECASE)
_SPELT = ("$BASE", "${BASE}")


@record
class Instruction:
    """One, its lines joined and blanks made one; `offset` and `length` are its first line's."""

    words: str
    offset: int
    length: int


def instructions(text: str) -> Iterator[Instruction]:
    """All of a Containerfile, in order."""
    offset, began, first, parts = 0, 0, 0, list[str]()
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if not bare.startswith("#") and (bare or parts):
            if not parts:
                began, first = offset + len(line) - len(line.lstrip()), len(bare)
            parts.append(bare.removesuffix("\\"))
            if not bare.endswith("\\"):
                yield Instruction(" ".join(" ".join(parts).split()), began, first)
                parts = []
        offset += len(line)
    if parts:
        yield Instruction(" ".join(" ".join(parts).split()), began, first)


def step(said: str) -> str | None:
    """The instruction that a builder says it is at; None where it says something else."""
    found = _STEP.fullmatch(said.strip())
    return " ".join(found["words"].split()) if found else None


def at(text: str, words: str) -> Instruction | None:
    """Where an instruction stands."""
    every = list(instructions(text))
    found = next((each for each in every if each.words == words), None)
    if found is None and words.startswith("FROM "):
        # podman writes what an argument before the first FROM stands for, and keeps what a stage is called.
        name = words.partition(" AS ")[2]
        found = next(
            (each for each in every if _FROM.match(each.words) and each.words.partition(" AS ")[2] == name), None
        )
    return found


def arguments(text: str) -> set[str]:
    """Names of the arguments that a Containerfile takes."""
    return {found["name"] for each in instructions(text) if (found := _ARG.match(each.words))}


def more(text: str) -> Instruction | None:
    """The first instruction of those that do more than copy files out of other images; layers have none of it."""
    every = instructions(text)
    return next((each for each in every if not (_PLAIN.match(each.words) or _COPY.match(each.words))), None)


def astray(text: str) -> Instruction | None:
    """The `FROM` by which the last stage comes from another image than `${BASE}`; None where it does not."""
    stages: dict[str, Instruction | None] = {}
    strange: Instruction | None = None
    for each in instructions(text):
        found = _STAGE.match(each.words)
        if found is None:
            continue
        image = found["image"].strip("\"'")
        # Names of stages do not heed case, and mean those before alone.
        fits = image in _SPELT or (image.lower() in stages and stages[image.lower()] is None)
        strange = None if fits else stages.get(image.lower()) or each
        if found["name"]:
            stages[found["name"].lower()] = strange
    return strange
