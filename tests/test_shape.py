"""The shape of the house: each rule of `tests/rules.py` over every tracked file, and a sample that breaks it."""

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests import rules
from tests.rules import Rule, Source

ROOT = Path(__file__).parents[1]
BODY = "".join(f"    x{n} = {n}\n" for n in range(40))
TEXT = "def f():\n    '''One.\n\n    Two.'''\n"
LISTED = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
HEAVY = ("pydantic", "rich", "httpx", "psutil", "tomlkit", "zstandard", "isal", "tarfile", "spython", "docker")


def anywhere(source: Source) -> bool:
    return True


def python(source: Source) -> bool:
    return source.path.endswith(".py")


def package(source: Source) -> bool:
    return python(source) and source.path.startswith("launcher/")


RULES: dict[Rule, Callable[[Source], bool]] = {
    rules.long_function: python,
    rules.many_parameters: python,
    rules.long_file: python,
    rules.adapter_literal: package,
    rules.undocumented: package,
    rules.hidden_import: python,
    rules.wide_except: python,
    rules.mocked: python,
    rules.vague_name: python,
    rules.effect: package,
    rules.unportable: package,
    rules.machine_place: anywhere,
}

PASSES: list[tuple[Rule, str, str]] = [
    (
        rules.long_function,
        "launcher/cli/a.py",
        'def f():\n    """One.\n\n    Two."""\n' + BODY[: BODY.rindex("    x39")],
    ),
    (rules.many_parameters, "launcher/cli/a.py", "class A:\n    def f(self, a, b, c, d, *, e, f): ..."),
    (rules.long_file, "launcher/cli/a.py", "a = 1\n" * 300),
    (rules.adapter_literal, "launcher/roles/smg.py", 'NAME = "smg"'),
    (rules.adapter_literal, "launcher/cli/a.py", 'NAME = "smg-like"'),
    (rules.undocumented, "launcher/cli/a.py", "def _f(): ...\nclass A(B):\n    '''An A.'''\n    def ports(self): ..."),
    (rules.hidden_import, "launcher/cli/a.py", "import json\ndef f(): return json"),
    (rules.wide_except, "launcher/cli/a.py", "try: f()\nexcept (OSError, ValueError): pass"),
    (rules.mocked, "tests/test_a.py", "from tests.worlds import Recording"),
    (rules.vague_name, "launcher/plan/place.py", ""),
    (rules.effect, "launcher/plan/a.py", "from pathlib import PurePosixPath\nimport json\njob.open()"),
    (rules.effect, "launcher/execute/a.py", "import os\nopen('a')"),
    (rules.unportable, "launcher/run/a.py", "import os\nfrom launcher.run.script import Script\nif (n := 1): pass"),
    (rules.machine_place, "README.md", "mounts = ['/home/ann/data:/data', '/root/.cache:/root/.cache']; docker.io/x"),
]

FAILS: list[tuple[Rule, str, str]] = [
    (rules.long_function, "launcher/cli/a.py", "def f():\n" + BODY),
    (rules.long_function, "launcher/cli/a.py", "class A:\n    async def f(self):\n" + BODY.replace("    ", "        ")),
    (rules.many_parameters, "launcher/cli/a.py", "def f(a, b, c, d, e, f, *, g): ..."),
    (rules.long_file, "launcher/cli/a.py", "a = 1\n" * 301),
    (rules.adapter_literal, "launcher/cli/a.py", 'if kind == "smg": ...'),
    (rules.adapter_literal, "launcher/model/a.py", 'match kind:\n    case "sim": ...'),
    (rules.undocumented, "launcher/cli/a.py", "def f(): ..."),
    (rules.undocumented, "launcher/cli/a.py", "class A: ..."),
    (rules.undocumented, "launcher/cli/a.py", "class A:\n    '''An A.'''\n    def f(self): ..."),
    (rules.hidden_import, "launcher/cli/a.py", "def f():\n    import json"),
    (rules.hidden_import, "launcher/cli/a.py", "from typing import TYPE_CHECKING"),
    (rules.hidden_import, "launcher/cli/a.py", "import typing\nif typing.TYPE_CHECKING: ..."),
    (rules.wide_except, "launcher/cli/a.py", "try: f()\nexcept Exception: pass"),
    (rules.wide_except, "launcher/cli/a.py", "try: f()\nexcept: pass"),
    (rules.wide_except, "launcher/cli/a.py", "try: f()\nexcept (OSError, Exception) as e: pass"),
    (rules.mocked, "tests/test_a.py", "from unittest import mock"),
    (rules.mocked, "tests/test_a.py", "import unittest.mock"),
    (rules.mocked, "tests/test_a.py", "from unittest.mock import patch"),
    (rules.vague_name, "launcher/plan/utils.py", ""),
    (rules.vague_name, "launcher/core/place.py", ""),
    (rules.effect, "launcher/plan/a.py", "import os"),
    (rules.effect, "launcher/run/script.py", "from pathlib import Path"),
    (rules.effect, "launcher/checks/a.py", "text = open('a').read()"),
    (rules.effect, "launcher/text/a.py", "from datetime import datetime\ndatetime.now()"),
    (rules.effect, "launcher/model/a.py", "from importlib import import_module"),
    (rules.unportable, "launcher/run/a.py", "match x:\n    case 1: ..."),
    (rules.unportable, "launcher/run/__main__.py", "if (n := 1): pass"),
    (rules.unportable, "launcher/run/a.py", "import pydantic"),
    (rules.unportable, "launcher/run/a.py", "subprocess.Popen(['a'], preexec_fn=f)"),
    (rules.machine_place, "docs/a.md", "see /wor" + "k/main/README"),
    (rules.machine_place, "docs/a.md", "pip --index-url https://pypi." + "org/simple"),
    (rules.machine_place, "docs/a.md", f"see {ROOT}/README.md"),
]


@cache
def tracked() -> tuple[Source, ...]:
    """Every text file that git has or would take, as it is in the working tree."""
    listed = subprocess.run(LISTED, cwd=ROOT, capture_output=True, check=True)
    paths = sorted({path for path in listed.stdout.decode().split("\0") if path and (ROOT / path).is_file()})
    return tuple(Source(path, (ROOT / path).read_text(encoding="utf-8", errors="replace")) for path in paths)


def named(case: object) -> str | None:
    return getattr(case, "__name__", None)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_rule_holds(rule: Rule) -> None:
    applies = RULES[rule]
    faults = [f"{source.path}: {fault}" for source in tracked() if applies(source) for fault in rule(source)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("rule", "path", "text"), PASSES, ids=named)
def test_rule_lets_pass(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(path, text))) == []


@pytest.mark.parametrize(("rule", "path", "text"), FAILS, ids=named)
def test_rule_can_fail(rule: Rule, path: str, text: str) -> None:
    source = Source(path, text)
    assert RULES[rule](source)
    assert list(rule(source)) != []


def test_every_rule_has_a_failing_sample() -> None:
    assert {rule for rule, _, _ in FAILS} == set(RULES) == {rule for rule, _, _ in PASSES}


def test_allowed_literals_are_needed() -> None:
    texts = {source.path: source.text for source in tracked()}
    assert [place for place in rules.LITERALS_ALLOWED if f'"{place[1]}"' not in texts[place[0]]] == []


def imports(*arguments: str) -> set[str]:
    """Top-level modules that `launch` with these arguments has imported when it ends."""
    program = (
        "import sys\n"
        "from launcher.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('modules', *{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    words = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stderr.rpartition("modules ")[2].split())


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["check", "--help"], set()),
        (["explain", "unknown-key"], {"pydantic"}),
        (["check", "quickstart"], {"pydantic"}),
        (["plan", "quickstart"], {"pydantic"}),
        (["render", "quickstart"], {"pydantic"}),
    ],
    ids=" ".join,
)
def test_heavy_modules_are_imported_only_where_used(arguments: list[str], allowed: set[str]) -> None:
    assert imports(*arguments) & set(HEAVY) <= allowed


def test_heavy_modules_would_be_seen() -> None:
    assert "pydantic" in imports("schema", "recipe")
