"""Whether a definition can be built by the builder that is to, found out before anything is asked or built."""

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from launcher.execute.reading import not_utf8, unreadable
from launcher.images import containerfile, deffile
from launcher.images.containerfile import Instruction
from launcher.images.reference import parse
from launcher.model.definition import BASE, CONTAINERFILE, Definition
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.document import Document, KeyPath


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
    raise Refused([Diagnostic("build-layers", message, _place(folder / CONTAINERFILE, text, found), help=advice)])


def based(definition: Definition, folder: Path, builder: Literal["docker", "apptainer"]) -> None:
    """Raises Refused for a Containerfile, or a `.def`, whose image does not come from the base that is recorded."""
    name, astray, spelt = {
        "docker": (CONTAINERFILE, containerfile.astray, "FROM ${BASE}"),
        "apptainer": (f"{definition.name}.def", deffile.astray, "From: {{ BASE }}"),
    }[builder]
    text = _text(folder, name)
    found = astray(text) if text is not None else None
    if text is not None and found is not None:
        message = f"`{definition.name}` is not built upon its base: `{found.words[:60]}`"
        place = _place(folder / name, text, found)
        advice = f"write `{spelt}`: `[base]`, its digest and `--base` decide what that is"
        raise Refused([Diagnostic("build-base", message, place, help=advice)])


def named(definition: Definition, said: Collection[str]) -> None:
    """Raises Refused for images that no reference names, arguments filled in: each where it is written, or as the
    command line's where one of the arguments `said` there is in it.
    """
    file = definition.file
    texts: list[tuple[KeyPath, str, str]] = [(("base", "reference"), file.base.reference, definition.base)]
    copied = zip(file.copies, definition.copies, strict=True)
    texts += [(("copy", index, "from"), each.from_, made) for index, (each, (made, _, _)) in enumerate(copied)]
    found = []
    for path, written, made in texts:
        try:
            parse(made)
        except ValueError as error:
            names = [name for name in said if f"${{{name}}}" in written or (name, path[0]) == (BASE, "base")]
            place = None if names else Place(definition.folder.document, path)
            code, status = ("command-line", 2) if names else ("wrong-value", 3)
            help_ = f"`{names[0]}` of the command line makes it that" if names else None
            found.append(Diagnostic(code, f"`{made}` names no image: {error}", place, help=help_, exit=status))
    if found:
        raise Refused(found)


def _text(folder: Path, name: str = CONTAINERFILE) -> str | None:
    path = folder / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        shown = str(path)
        found = not_utf8(shown, error) if isinstance(error, UnicodeDecodeError) else unreadable(shown, error)
        raise Refused([found]) from error


def _place(path: Path, text: str, found: Instruction) -> Place:
    document = Document(str(path), text, {})
    return Place(document, offset=found.offset, length=found.length)
