"""`launch check --fix`: keys that have another name are renamed in the files that have them.

A key is a few characters of the text, and those alone are replaced: comments, order and every other byte stay. A file
is written only if it still is what was read, and if what it then means is what it meant with those keys renamed.
"""

import os
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.execute.library import data
from launcher.text.diagnostic import Diagnostic
from launcher.text.document import Document, KeyPath, dotted

Edit = tuple[KeyPath, str]
"""Path of a key, and what it is to be called."""


def fix(findings: Iterable[Diagnostic]) -> Sequence[str]:
    """Renames what can be renamed; returns a line for each file that was written. Raises OSError."""
    wanted: dict[Document, dict[KeyPath, str]] = {}
    for finding in findings:
        if finding.rename is not None and finding.place is not None and finding.place.part == "key":
            wanted.setdefault(finding.place.document, {})[finding.place.path] = finding.rename
    return [line for document, edits in wanted.items() if (line := _written(document, list(edits.items())))]


def _written(document: Document, edits: Sequence[Edit]) -> str | None:
    """What was done to one file, or None where nothing can be."""
    path = Path(document.name)
    text = renamed(document, edits)
    if text is None or not _ours(path) or path.read_text(encoding="utf-8") != document.text:
        return None
    replace(path, text)
    told = ", ".join(f"`{old[-1]}` → `{new}`" for old, new in edits)
    return f"{document.name}: {told}"


def _ours(path: Path) -> bool:
    """Whether the file is the user's to change: there, and not shipped with the launcher."""
    return path.is_file() and data().resolve() / "manifests" not in path.resolve().parents


def renamed(document: Document, edits: Sequence[Edit]) -> str | None:
    """The document's text with the keys renamed, or None where it would not mean just that."""
    spans = sorted(((document.span(path, "key"), name) for path, name in edits), key=lambda each: -each[0].start)
    text = document.text
    for span, name in spans:
        text = text[: span.start] + dotted((name,)) + text[span.end :]
    try:
        meant = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    return text if _plain(meant) == _renamed(document.data, dict(edits)) else None


def _renamed(value: Any, edits: Mapping[KeyPath, str], at: KeyPath = ()) -> Any:
    """The value with keys renamed; None for a table in which two keys would be one."""
    if isinstance(value, Mapping):
        pairs = [(edits.get((*at, key), key), _renamed(item, edits, (*at, key))) for key, item in value.items()]
        return dict(pairs) if len({key for key, _ in pairs}) == len(pairs) else None
    if isinstance(value, list):
        return [_renamed(item, edits, (*at, index)) for index, item in enumerate(value)]
    return value


def _plain(value: Any) -> Any:
    return _renamed(value, {})


def replace(path: Path, text: str) -> None:
    """Writes the file whole or not at all, with the mode it had. Raises OSError."""
    real = path.resolve()
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(real.stat().st_mode & 0o7777)
        Path(name).replace(real)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
