"""What to do about a finding is said with it, or a reason stands here why not."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checks import casefile
from tests.checks.test_cases import FILES

PACKAGE = Path(__file__).parents[2] / "launcher"
OBVIOUS = {
    "wrong-value": "what a form is, is said in the message",
    "not-set": "what counts instead is in the message",
    "harvest-failed": "pip, or the program, says it in its own words",
    "CODE": "of TOML that is broken in a way nobody foresaw, the parser's own words",
    "code": "what the system says of a file, or what was handed on with what to do",
}
"""Code, or the name of what holds one, → why what to do about it is not always said."""

PLACES = {"Usage": 3, "Failed": 2}
"""What a verb raises → the number of the word that says what to do."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_findings_say_what_to_do(path: Path, tmp_path: Path) -> None:
    cases = casefile.read(path.read_text(encoding="utf-8"))
    findings = [finding for number, case in enumerate(cases) for finding in case.run(tmp_path / str(number))]
    assert [each.message for each in findings if not each.help and each.code not in OBVIOUS] == []


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """Every call in the package: where it stands, and what is called."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", name, node


def test_whoever_makes_a_finding_says_what_to_do() -> None:
    lacking = {}
    for place, name, call in calls():
        words = {word.arg for word in call.keywords}
        if name == "Diagnostic" and not {"help", None} & words:
            lacking[place] = getattr(call.args[0], "value", getattr(call.args[0], "id", None))
    assert {place: code for place, code in lacking.items() if code not in OBVIOUS} == {}


def test_verbs_say_what_to_do() -> None:
    lacking = [
        place
        for place, name, call in calls()
        if name in PLACES and len(call.args) < PLACES[name] and not any(word.arg == "advice" for word in call.keywords)
    ]
    assert lacking == []


def test_reasons_are_needed() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert [code for code in OBVIOUS if f'"{code}"' not in said and f"{code}," not in said] == []
