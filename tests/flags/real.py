"""Ours beside theirs: what the checks say of one use of a flag, and what the program's own parser does with it."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

from launcher.checks import CHECKS, Case
from launcher.model.catalogue import Catalogue, Flag, spell
from launcher.text.diagnostic import errors
from tests import jobs
from tests.flags.uses import Use
from tests.model import argv

ROOT = Path(__file__).parents[2]
TRIAL = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.flags import trial; trial.main(sys.argv[1])"
# Rules between flags are the engines' own, looked at once the command line is read.
PYTHON: Mapping[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float)}
FLAGGED = [rule for rule in CHECKS.values() if rule.__module__.startswith("launcher.checks.flag")]


class Real:
    """The program's own parser, in a process of its own."""

    def __init__(self, words: Sequence[str], order: Mapping[str, Any], base: Sequence[str] = ()) -> None:
        whole = json.dumps({**order, "base": list(base)})
        self._process = subprocess.Popen(
            [*words, "-c", TRIAL, whole],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def ask(self, words: Sequence[str], name: str) -> Mapping[str, Any]:
        """Whether the parser takes the words, and what it then has for the flag."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"words": list(words), "name": name}) + "\n")
        self._process.stdin.flush()
        answer: Mapping[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def ours(catalogue: Catalogue, use: Use, title: str) -> list[str]:
    """What the checks refuse of a role with this one flag; warnings do not refuse."""
    manifest = jobs.manifest(kind="service", program={"name": title, "command": ["true"]})
    role = jobs.role("other", manifest, flags={use.key: use.value}, catalogue=catalogue, version=catalogue.version)
    case = Case(jobs.job(role), jobs.adapters())
    return [finding.message for rule in FLAGGED for finding in errors(rule(case))]


def theirs(real: Real, catalogue: Catalogue, use: Use) -> tuple[bool, str]:
    """Whether the program takes the use and has for the flag what was written; and what it said."""
    flag = catalogue.find(use.key)
    words = spell(catalogue, {use.key: use.value})
    name = flag.name.partition(".")[0] if flag and flag.within else flag.name if flag else ""
    answer = real.ask(words, name)
    if not answer["taken"]:
        return False, answer["said"]
    if use.value is False and not words:
        return False, "was told nothing"
    if "path" in answer:
        return isinstance(use.value, str) and str(PurePosixPath(use.value)) == answer["path"], answer["path"]
    if flag is None or "value" not in answer:
        return True, answer.get("opaque", "")
    if flag.deprecated and not answer["plain"] and not isinstance(use.value, list):
        # It is kept as the new flag's, where that is.
        return isinstance(use.value, PYTHON.get(flag.kind, (object,))), "has what the new flag would have"
    return arrived(flag, use.value, answer["value"], words), f"has {str(answer['value'])[:80]}"


def arrived(flag: Flag, value: Any, told: Any, words: Sequence[str]) -> bool:
    """Whether what the program has is what was written, where that can be said."""
    items = value if isinstance(value, list) and flag.arity in ("*", "+") else [value]
    if flag.kind == "mixed" and not all(isinstance(item, str | dict) for item in items):
        return False
    if unsaid(flag, value) or (value == [] and not words):
        return True
    if flag.kind == "json" and isinstance(value if isinstance(value, str) else told, str):
        return _json(value if isinstance(value, str) else told)
    if flag.kind == "bool" or isinstance(value, bool):
        return isinstance(value, bool) and (flag.kind == "bool" or flag.arity == "?")
    return _same(flag, value, told)


def _same(flag: Flag, value: Any, told: Any) -> bool:
    """Whether a value arrived, but for what the program does to all it reads."""
    if flag.joined is not None:
        told = told if isinstance(told, list) else [told]
        if flag.kind == "str":
            return [str(item) for item in told] == [str(item) for item in argv.meant(flag, value)]
    if flag.snake and isinstance(value, str):
        value, told = (word.replace("-", "_") if isinstance(word, str) else word for word in (value, told))
    if flag.folded and isinstance(told, str):
        told = told.lower()
    return argv.alike(flag, told, argv.meant(flag, value))


def unsaid(flag: Flag, value: Any) -> bool:
    """Whether the program has something of its own for what was written: a word, a suffix, an object."""
    if flag.within or flag.kind in ("any", "mixed") or flag.shape is not None:
        return True
    several = isinstance(value, list) and flag.arity in ("*", "+")
    texts = [item for item in (value if several else [value]) if isinstance(item, str)]
    suffixed = bool(flag.suffixes) and isinstance(value, str) and value[-1:].isalpha()
    return suffixed or any((item.lower() if flag.folded else item) in flag.also for item in texts)


def _json(text: str) -> bool:
    """Whether a text is JSON, for programs that read it as such only later."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
