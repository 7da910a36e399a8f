"""`launch check --fix`: keys that have another name are renamed in the files that have them.

A key is a few characters of the text, and those alone are replaced: comments, order and every other byte stay. A file
is written only if it still is what was read, and if what it then means is what it meant with those keys renamed.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from launcher.execute.library import data
from launcher.run import files
from launcher.text.diagnostic import Diagnostic
from launcher.text.document import Document, KeyPath, dotted

Edit = tuple[KeyPath, str]
"""Path of a key, and what it is to be called."""


class Fixed(NamedTuple):
    """What was done to one file, in a line; and whether it was written."""

    line: str
    written: bool = False


def fix(findings: Iterable[Diagnostic]) -> Sequence[Fixed]:
    """Renames what can be renamed, and says of each file what was done or why nothing was. Raises OSError."""
    wanted: dict[Document, dict[KeyPath, str]] = {}
    for finding in findings:
        if finding.rename is not None and finding.place is not None and finding.place.part == "key":
            wanted.setdefault(finding.place.document, {})[finding.place.path] = finding.rename
    return [done for document, edits in wanted.items() for done in _fixed(document, list(edits.items()))]


def _fixed(document: Document, edits: Sequence[Edit]) -> Iterator[Fixed]:
    path = Path(document.name)
    why = _kept(document, path)
    if why is not None:
        yield Fixed(f"`{document.name}` is left as it is: {why}")
        return
    possible: list[Edit] = []
    for edit in edits:
        if renamed(document, [*possible, edit]) is None:
            yield Fixed(f"`{edit[0][-1]}` in `{document.name}` is left as it is: there is a `{edit[1]}` beside it")
        else:
            possible.append(edit)
    text = renamed(document, possible)
    if possible and text is not None:
        real = path.resolve()
        mode = real.stat().st_mode & 0o7777
        files.write(str(real), text.encode(), mode)
        real.chmod(mode)
        told = ", ".join(f"`{old[-1]}` → `{new}`" for old, new in possible)
        yield Fixed(f"renamed in {document.name}: {told}", written=True)


def _kept(document: Document, path: Path) -> str | None:
    """Why a file is not to be changed, or None."""
    if not path.is_file():
        return "it is no file"
    if data().resolve() / "manifests" in path.resolve().parents:
        return "it is the launcher's own"
    if not path.stat().st_mode & 0o222:
        return "it may only be read"
    if path.read_bytes() != document.text.encode():
        return "it has changed meanwhile"
    return None if renamed(document, ()) is not None else "it is no TOML"


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
