"""The house's rules about its own text, as data: each yields what is wrong with one file."""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from launcher.roles import MODULES

PURE = ("text", "model", "roles", "images", "plan", "render", "checks")
"""Rooms below `execute`: they compute; whatever touches the world is asked for by `execute`."""

EFFECTS = frozenset(
    [
        "asyncio",
        "builtins",
        "ctypes",
        "ftplib",
        "getpass",
        "glob",
        "http",
        "httpx",
        "importlib",
        "io",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
        "pkgutil",
        "platform",
        "psutil",
        "random",
        "resource",
        "secrets",
        "select",
        "shutil",
        "signal",
        "smtplib",
        "socket",
        "ssl",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
        "webbrowser",
        "docker",
        "spython",
    ]
)
"""Modules a pure room may not import; `pathlib` for its pure paths alone."""

EFFECT_CALLS = frozenset(("open", "input", "print", "eval", "exec", "__import__", "breakpoint"))
NOW = frozenset(("now", "utcnow", "today"))
VAGUE = frozenset(("utils", "util", "helpers", "helper", "common", "core", "manager", "managers", "misc"))

LITERALS_ALLOWED: Mapping[tuple[str, str], str] = {
    ("launcher/model/manifest.py", "plain"): "the schema's default: a manifest that names no adapter has no logic",
    ("launcher/sim/__init__.py", "sim"): "the simulated engine's name for itself; it knows no adapters",
    ("launcher/sim/events.py", "vllm"): "the program whose events are written",
    ("launcher/sim/events.py", "sglang"): "the program whose events are written",
    ("launcher/sim/parser.py", "vllm"): "the program whose wire is spoken",
    ("launcher/sim/parser.py", "trtllm"): "the program whose wire is spoken",
    ("launcher/sim/personality.py", "trtllm"): "the program whose wire is spoken",
    ("launcher/sim/disguise.py", "trtllm"): "the program whose command line is read",
    ("launcher/sim/parser.py", "sglang"): "the program whose wire is spoken",
    ("launcher/sim/personality.py", "sglang"): "the program whose wire is spoken",
    ("launcher/sim/disguise.py", "sglang"): "the program whose command line is read",
    ("launcher/checks/rules/sglang.py", "sglang"): "the program whose flags the rules are about",
    ("launcher/sim/disguise.py", "vllm"): "the program whose command line is read",
    ("launcher/execute/bundle.py", "sim"): "the folder of the package",
    ("launcher/sim/personality.py", "vllm"): "the program whose wire is spoken",
    ("launcher/checks/rules/vllm_parallel.py", "vllm"): "the program whose flags the rules are about",
    ("launcher/model/recipe.py", "direct"): "the schema's default: a recipe without `[router]` has this one",
}
"""(file, adapter's name) → why it may stand there."""


@dataclass(frozen=True)
class Source:
    """One tracked file: `path` relative to the root, with `/`."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The file as Python. Raises SyntaxError."""
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        """The folder below `launcher/`, else an empty text."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "launcher" and len(parts) > 2 else ""

    @property
    def pure(self) -> bool:
        return self.room in PURE or self.path == "launcher/run/script.py"


Rule = Callable[[Source], Iterator[str]]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported anywhere; `from a import b` is `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def long_function(source: Source) -> Iterator[str]:
    """A function has at most 40 lines, its docstring not counted."""
    for node in functions(source.tree):
        first = node.body[0]
        documented = ast.get_docstring(node, clean=False) is not None
        docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
        lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring
        if lines > 40:
            yield f"line {node.lineno}: {node.name} has {lines} lines"


def many_parameters(source: Source) -> Iterator[str]:
    """A function has at most six parameters, `self` not counted."""
    for node in functions(source.tree):
        parts = node.args
        names = [arg.arg for arg in (*parts.posonlyargs, *parts.args, *parts.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > 6:
            yield f"line {node.lineno}: {node.name} has {count} parameters"


def long_file(source: Source) -> Iterator[str]:
    """A file has at most 300 lines."""
    lines = len(source.text.splitlines())
    if lines > 300:
        yield f"{lines} lines"


def adapter_literal(source: Source) -> Iterator[str]:
    """An adapter's name stands in its module and in manifests, nowhere else in the package."""
    if source.room == "roles":
        return
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Constant) or node.value not in MODULES:
            continue
        if (source.path, node.value) not in LITERALS_ALLOWED:
            yield f"line {node.lineno}: the adapter's name {node.value!r}"


def undocumented(source: Source) -> Iterator[str]:
    """What is public says what it returns: classes, functions, and methods that override nothing."""
    for node in source.tree.body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and not node.name.startswith("_"):
            yield from _undocumented(node)
        if isinstance(node, ast.ClassDef) and not node.bases and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, _FUNCTIONS) and not method.name.startswith("_"):
                    yield from _undocumented(method)


def _undocumented(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[str]:
    if not (ast.get_docstring(node) or "").strip():
        yield f"line {node.lineno}: {node.name} has no docstring"


def hidden_import(source: Source) -> Iterator[str]:
    """Imports stand at the top: nothing in functions, no TYPE_CHECKING."""
    for node in functions(source.tree):
        yield from (f"line {line}: import of {name} in {node.name}" for line, name in imported(node))
    for part in ast.walk(source.tree):
        if "TYPE_CHECKING" in (getattr(part, "id", None), getattr(part, "attr", None), getattr(part, "name", None)):
            yield f"line {getattr(part, 'lineno', 1)}: TYPE_CHECKING"


def wide_except(source: Source) -> Iterator[str]:
    """An except clause names what it expects."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(kind is None or getattr(kind, "id", getattr(kind, "attr", "")) == "Exception" for kind in caught):
                yield f"line {node.lineno}: catches everything"


def mocked(source: Source) -> Iterator[str]:
    """Effects go through World; nothing is patched."""
    for line, name in imported(source.tree):
        if name.startswith(("unittest.mock", "mock.")) or name in ("mock", "pytest_mock"):
            yield f"line {line}: {name}"


def vague_name(source: Source) -> Iterator[str]:
    """A module is a noun of the domain."""
    for part in source.path.removesuffix(".py").split("/"):
        if part in VAGUE:
            yield f"{part} says nothing"


def effect(source: Source) -> Iterator[str]:
    """A pure room imports nothing that touches the world, opens nothing and asks no clock."""
    if not source.pure:
        return
    for line, name in imported(source.tree):
        if name.split(".")[0] in EFFECTS and not name.startswith("pathlib.Pure"):
            yield f"line {line}: imports {name}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EFFECT_CALLS:
            yield f"line {node.lineno}: calls {node.func.id}"
        if isinstance(node, ast.Attribute) and node.attr in NOW:
            yield f"line {node.lineno}: asks the clock by {node.attr}"


def unportable(source: Source) -> Iterator[str]:
    """The supervisor is standard library and Python 3.9; its entry parses on 3.6, which is told what is wanted."""
    if source.room != "run":
        return
    oldest = (3, 6) if source.path.endswith("__main__.py") else (3, 9)
    try:
        ast.parse(source.text, feature_version=oldest)
    except SyntaxError as error:
        yield f"line {error.lineno}: not Python {oldest[0]}.{oldest[1]}: {error.msg}"
        return
    for line, name in imported(source.tree):
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("launcher.run"):
            yield f"line {line}: imports {name}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.keyword) and node.arg == "preexec_fn":
            yield f"line {node.value.lineno}: preexec_fn is unsafe beside threads"


# The checkout and the home of whoever runs this, and folders that were theirs once; `[/]` and `[.]` keep this
# file from holding what it looks for. A name alone may be anybody's: a checkout counts with something in it.
_OURS = [str(place) for place in (Path(__file__).parents[1], Path.home()) if len(place.parts) > 2]
_PLACES = re.compile(
    r"(?<![\w.-])(?:[/](?:work[/](?:main|shared)|root[/][.](?:pyenv|local)|opt[/](?:pypi|wheels))"
    rf"{''.join('|' + re.escape(place) + '(?=/)' for place in _OURS)})(?![\w-])"
    r"|\b(?:pythonhosted[.]org|pypi[.]org|npmjs[.](?:org|com)|deb[.]debian[.]org|proxy[.]golang[.]org|crates[.]io)\b"
)


def machine_place(source: Source) -> Iterator[str]:
    """No file speaks of one machine's folders or of the hosts packages come from."""
    for number, line in enumerate(source.text.splitlines(), 1):
        found = _PLACES.search(line)
        if found:
            yield f"line {number}: {found.group()}"
