"""What `ls` and `show` tell of aliases that are definitions: what was built of them, and whether it still holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from launcher.execute.images import locks
from launcher.execute.library import Files
from launcher.model import built
from launcher.model.linking import Linking
from launcher.model.lock import Lock, LockedImage
from launcher.model.site import Site
from launcher.text.advice import typed
from launcher.text.diagnostic import Refused


@dataclass(frozen=True)
class Builds:
    """The aliases of `site` that are definitions, and the project's lock."""

    site: Site
    lock: Lock | None

    @classmethod
    def of(cls, site: Site, file: str | None = None) -> Self:
        """With the lock in `file`, else the nearest here or above. Raises Refused for one that cannot be read."""
        wanted = any(image.build for image in site.cluster.images.values())
        return cls(site, locks.read(Path(file) if file else locks.path()) if wanted else None)

    def found(self, alias: str) -> list[LockedImage]:
        """What was built, for each architecture of the cluster's."""
        cluster = self.site.cluster
        return [
            each
            for each in (self.lock.image if self.lock else ())
            if (each.cluster, each.alias) == (cluster.name, alias)
            and each.build is not None
            and cluster.arch in (None, each.arch)
        ]

    def has(self, alias: str) -> str:
        """The programs that its image has, or will have."""
        meant = built.definition(Linking(Files()), self.site, alias)
        return ", ".join(f"{program} {version}" for program, version in sorted(meant.programs.items())) if meant else ""

    def said(self, alias: str) -> str:
        """In two words or so, how it stands."""
        linking = Linking(Files())
        meant = built.definition(linking, self.site, alias)
        if meant is None:
            return linking.findings[0].message
        found = self.found(alias)
        if not found:
            return "not built"
        return "built" if all(meant.key(each.arch) == each.build for each in found) else "changed since it was built"

    def rows(self, alias: str) -> Iterator[tuple[str, str]]:
        """(name, value) of all that is known of the alias. Raises Refused for a definition that cannot be read."""
        linking = Linking(Files())
        meant = built.definition(linking, self.site, alias)
        if meant is None:
            raise Refused(linking.findings)
        yield "definition", meant.folder.document.name
        yield from (("argument", f"{name}={value}") for name, value in meant.args.items())
        yield "base", meant.base
        yield from (("has", f"{program} {version}") for program, version in meant.programs.items())
        for each in self.found(alias):
            fresh = "" if meant.key(each.arch) == each.build else " (the definition has changed since)"
            yield "built", f"{each.reference} for {each.arch}{fresh}"
            yield "upon", each.base or ""
        if not self.found(alias):
            yield "built", f"not yet: {typed('images build', alias, self.site.option)}"
