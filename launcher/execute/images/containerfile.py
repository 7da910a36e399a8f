"""What the Containerfile of a definition does, held against the builder that is to build it, and against its base."""

from collections.abc import Iterator
from pathlib import Path

from launcher.images import containerfile
from launcher.images.containerfile import Instruction
from launcher.model.definition import CONTAINERFILE, Definition
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.document import Document


def copies(definition: Definition, folder: Path) -> bool:
    """Whether the definition only copies files: then layers are all of it. Raises Refused."""
    text = _text(folder)
    return bool(definition.copies) and (text is None or containerfile.more(text) is None)


def layered(definition: Definition, folder: Path) -> None:
    """Raises Refused for a Containerfile that does more than layers would have."""
    text = _text(folder)
    found = containerfile.more(text) if text is not None else None
    if text is None or found is None:
        return
    message = f"`{definition.name}` does more than copy files: `{found.words[:60]}`"
    advice = "`--with docker` builds it; layers have what `[[copy]]` says alone"
    raise Refused([Diagnostic("build-layers", message, _place(folder, text, found), help=advice)])


def based(definition: Definition, folder: Path) -> None:
    """Raises Refused for a Containerfile whose image does not come from the base that is recorded for it."""
    text = _text(folder)
    if text is None:
        return
    found = containerfile.astray(text)
    if found is not None:
        message = f"`{definition.name}` is not built upon its base: `{found.words[:60]}`"
        place = _place(folder, text, found)
        advice = "write `FROM ${BASE}`: `[base]`, its digest and `--base` decide what that is"
        raise Refused([Diagnostic("build-base", message, place, help=advice)])


def _text(folder: Path) -> str | None:
    path = folder / CONTAINERFILE
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(list(_unreadable(path, error))) from error


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> Iterator[Diagnostic]:
    why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
    yield Diagnostic("file-unreadable", f"`{path}` cannot be read: {why}", None, exit=2)


def _place(folder: Path, text: str, found: Instruction) -> Place:
    document = Document(str(folder / CONTAINERFILE), text, {})
    return Place(document, offset=found.offset, length=found.length)
