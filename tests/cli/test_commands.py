"""Commands that messages tell people to run: each can be run as it is written."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher import cli
from launcher.cli.guard import Usage
from launcher.text.advice import option, typed

PACKAGE = Path(cli.__file__).parents[1]
TYPED = re.compile(r"`launch ([^`]+)`")


def told(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module that is no docstring, with its line; `x` stands for what is put into it."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(each) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for each in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts = [str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values]
            yield node.lineno, "".join(texts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said | parts:
            yield node.lineno, node.value


def made(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """The texts that `typed` makes, and whether they have the option of a cluster."""
    ours = any(isinstance(node, ast.ImportFrom) and node.module == "launcher.text.advice" for node in ast.walk(tree))
    for node in ast.walk(tree) if ours else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "typed":
            options = [each for each in node.args if ast.unparse(each).endswith((".option", ".asked"))]
            words = [each.value if isinstance(each, ast.Constant) else "x" for each in node.args if not_option(each)]
            yield node.lineno, typed(*map(str, words)), bool(options)


def not_option(word: ast.expr) -> bool:
    return re.search(r"option|^lock$", ast.unparse(word)) is None


def modules() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))


def found(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a text: their verb, and what follows it. A verb alone may be its name: nothing follows."""
    for line in TYPED.findall(text):
        words = shlex.split(line.partition(" | ")[0])
        verb = next((each for each in (" ".join(words[:2]), words[0]) if each in cli.verbs()), words[0])
        yield verb, words[len(verb.split()) :]


def test_each_is_a_command_of_the_program() -> None:
    faults = []
    for place, tree in modules():
        texts = [*told(tree), *((line, text) for line, text, _ in made(tree))]
        # Pages of several lines are prose, and `typed` itself is none.
        texts = [each for each in texts if "\n" not in each[1] and place != "text/advice.py"]
        for line, text in texts:
            faults += [f"{place}:{line}: {text}" for verb, words in found(text) if not runs(verb, words)]
    assert faults == []


def runs(verb: str, words: list[str]) -> bool:
    if verb not in cli.verbs():
        return verb in cli.VERBS and not words
    if not words or (verb == "flags" and len(words) == 1):
        return True  # the verb by its name
    try:
        return "--help" in words or cli.parser(verb).read(words) is not None
    except Usage:
        return False


def test_one_on_images_names_the_cluster_that_is_meant() -> None:
    """Without, it would be of whichever cluster nobody names."""
    count = 0
    for place, tree in modules():
        for line, text in told(tree):
            wrong = "`launch images " in text and "\n" not in text and "description" not in text
            assert not wrong or place in ("cli/images/__init__.py", "model/cluster.py"), f"{place}:{line}: {text}"
        for line, text, named in made(tree):
            assert named or not text.startswith("`launch images "), f"{place}:{line}: {text}"
            count += 1
    assert count > 10


@pytest.mark.parametrize("path", ["gb300", "./my site.toml", "/a/$HOME's.toml"])
def test_a_shell_reads_what_was_meant(path: str) -> None:
    words = typed("images lock", "", option("cluster", path), option("lock", ""))
    assert shlex.split(words.strip("`")) == ["launch", "images", "lock", "--cluster", path]
