"""What the parts of one link share: where documents come from, and what was found wrong so far."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal, TypeVar

from launcher.model.library import Library
from launcher.model.merge import Twice
from launcher.model.recipe import Table
from launcher.model.shape import read
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Label, Place
from launcher.text.document import Document, KeyPath
from launcher.text.suggest import Suggestions

T = TypeVar("T", bound=Table)


@record
class Linking:
    """One link under way."""

    library: Library
    findings: list[Diagnostic] = field(default_factory=list)
    suggestions: Suggestions = field(default_factory=Suggestions)
    configurations: dict[tuple[Document, str], Document | None] = field(default_factory=dict)
    """What was read of files that several roles are told of; None where that was refused."""

    def refuse(
        self, code: str, message: str, place: Place | None, hint: str | None = None, *, command: bool = False
    ) -> None:
        """Adds a finding that refuses; with `command` it is the command line that is wrong (exit code 2)."""
        self.findings.append(Diagnostic(code, message, place, help=hint, exit=2 if command else 3))

    def read(self, model: type[T], document: Document) -> T | None:
        """The document as a `model`, or None and findings."""
        result, faults = read(model, document.data, Written(document), self.suggestions)
        self.findings.extend(faults)
        return result

    def known(self, word: str, names: Iterable[str], what: str) -> str:
        """A help line: what was probably meant, else what there is."""
        listed = sorted(names)
        found = self.suggestions.nearest(word, listed)
        if found:
            return f"did you mean `{found}`?"
        return f"{what}: {', '.join(f'`{name}`' for name in listed)}" if listed else f"there are no {what}"

    def twice(self, found: Iterable[Twice]) -> None:
        """Findings for keys that one table has under two spellings."""
        for one in found:
            first, second = one.first, one.second
            self.findings.append(
                Diagnostic(
                    "written-twice",
                    f"`{second.path[-1]}` and `{first.path[-1]}` are one key",
                    Place(second.document, second.path, "key"),
                    labels=(Label(Place(first.document, first.path, "key"), "the same under another spelling"),),
                    help="keep one of them",
                )
            )


@record
class Written:
    """Where key paths of a document stand: in that document."""

    document: Document

    def __call__(self, path: KeyPath, part: Literal["key", "value"]) -> Place:
        return Place(self.document, path, part)


def placed(finding: Diagnostic, place: Place | None) -> Diagnostic:
    """A finding about a file that a document names at `place`: it is the document's content that is wrong."""
    if finding.place or place is None:
        return finding
    return replace(finding, place=place, exit=finding.exit if commanded(place) else 3)


def commanded(place: Place | None) -> bool:
    """Whether what names something is a word of the shell: it stands nowhere, or at no key of its document."""
    return place is None or place.offset is not None


def text(data: Mapping[str, Any], key: str) -> str | None:
    """A string of a table that nobody has validated yet; None for anything else."""
    value = data.get(key)
    return value if isinstance(value, str) else None


def table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A table of a table that nobody has validated yet; empty for anything else."""
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}
