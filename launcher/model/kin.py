"""What is known beside the catalogue of a role's program: other versions, other programs, names that moved."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from launcher.model.catalogue import Catalogue
from launcher.run.record import record


@record
class Names:
    """The reviewed part (`manifests/flags/names.toml`).

    `titles` are programs as people write them; `same` are groups of flags with one meaning, program → key; `moved`
    says for a program what to write instead of a flag it has no longer; `repositories` whose tags are versions of
    which program or programs.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    same: Sequence[Mapping[str, str]] = ()
    moved: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    repositories: Mapping[str, str | Sequence[str]] = field(default_factory=dict)

    def title(self, program: str) -> str:
        """The program as people write it."""
        return self.titles.get(program, program)

    def tagged(self, repository: str, program: str) -> bool:
        """Whether the tags of a repository are versions of the program."""
        known = self.repositories.get(repository, ())
        return program == known if isinstance(known, str) else program in known


@record
class Kin:
    """Catalogues of other `versions` of the program, oldest first, and of `others`, the newest of each."""

    names: Names = field(default_factory=Names)
    versions: tuple[Catalogue, ...] = ()
    others: tuple[Catalogue, ...] = ()
