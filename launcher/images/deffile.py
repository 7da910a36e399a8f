"""Definition files of Apptainer: what each stage of one begins with.

Facts, of Apptainer 1.4.5 (`pkg/build/types/parser`): a stage begins with `Bootstrap:`, whatever the case, and its
header ends with the first section (`%post`); what stands behind a `#` is a comment.
"""

import re
from collections.abc import Iterator

from launcher.images.containerfile import Instruction

_TEMPLATE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_BASE = re.compile(r"\{\{\s*BASE\s*\}\}")


def templates(text: str) -> set[str]:
    """Names of the arguments that a definition file takes."""
    return set(_TEMPLATE.findall(text))


def astray(text: str) -> Instruction | None:
    """The line by which the last stage comes from another image than `{{ BASE }}`; None where it does not."""
    stage: dict[str, Instruction] = {}
    header = False
    for each in _lines(text):
        key, colon, _ = each.words.partition(":")
        name = key.strip().lower()
        if colon and name == "bootstrap":
            stage, header = {}, True
        header = header and not each.words.startswith("%")
        if header and colon:
            stage[name] = each
    found = stage.get("from") or stage.get("bootstrap")
    if found is None or (stage.get("from") is found and _BASE.fullmatch(found.words.partition(":")[2].strip())):
        return None
    return found


def stages(text: str) -> int:
    """How many stages there are."""
    return sum(each.words.partition(":")[0].strip().lower() == "bootstrap" for each in _lines(text))


def _lines(text: str) -> Iterator[Instruction]:
    offset = 0
    for line in text.splitlines(keepends=True):
        bare = line.partition("#")[0].strip()
        if bare:
            yield Instruction(bare, offset + line.index(bare), len(bare))
        offset += len(line)
