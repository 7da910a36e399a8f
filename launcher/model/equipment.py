"""The role manifests of a link: found by name, read once, and whether they fit the role that names them."""

import contextlib
from dataclasses import field

from launcher.model.job import ROUTER, WORKERS
from launcher.model.linking import Linking
from launcher.model.manifest import Manifest
from launcher.model.value import RESERVED
from launcher.run.record import record
from launcher.text.diagnostic import Place, Refused
from launcher.text.document import Document


@record
class Kit:
    """A role manifest and the document it was read from."""

    document: Document
    manifest: Manifest


@record
class Equipment:
    """What was asked of the library so far: documents (None: there is none), and those that could be read."""

    linking: Linking
    documents: dict[str, Document | None] = field(default_factory=dict)
    kits: dict[str, Kit] = field(default_factory=dict)

    def kit(self, name: str, role: str, place: Place) -> Kit | None:
        """The role manifest `name` for a role that names it at `place`, or None and findings."""
        if name not in self.documents:
            self._read(name)
        if name in self.documents and self.documents[name] is None:
            self._unknown(name, role, place)
        kit = self.kits.get(name)
        if kit is not None:
            self._fit(kit.manifest, role, place)
        return kit

    def _read(self, name: str) -> None:
        try:
            document = self.documents[name] = self.linking.library.manifest(name)
        except Refused as refused:
            self.linking.findings.extend(refused.diagnostics)
            return
        manifest = self.linking.read(Manifest, document) if document else None
        if document and manifest:
            self.kits[name] = Kit(document, manifest)
            self._sound(name, document, manifest)

    def _unknown(self, name: str, role: str, place: Place) -> None:
        router = role == ROUTER
        message = f"no {'router' if router else 'role manifest'} is named `{name}`"
        help_ = self.linking.known(name, self._fitting(role), "role manifests")
        self.linking.refuse("unknown-router" if router else "unknown-manifest", message, place, help_)

    def _fitting(self, role: str) -> list[str]:
        """Names of the manifests that are of the role's kind, or cannot be read; of all where there is none."""
        found = []
        for name in self.linking.library.manifests():
            with contextlib.suppress(Refused):
                document = self.linking.library.manifest(name)
                if document is None or document.data.get("kind") == _kind(role):
                    found.append(name)
        return found or list(self.linking.library.manifests())

    def _sound(self, name: str, document: Document, manifest: Manifest) -> None:
        """Whether the parts of a role manifest agree."""
        if manifest.name != name:
            message = f"the role manifest `{name}` calls itself `{manifest.name}`"
            help_ = f'write `name = "{name}"`, or rename the file'
            self.linking.refuse("name-mismatch", message, Place(document, ("name",)), help_)
        if manifest.metrics and manifest.metrics.port not in manifest.ports:
            message = f"`{name}` has no port `{manifest.metrics.port}`"
            help_ = self.linking.known(manifest.metrics.port, manifest.ports, "ports")
            self.linking.refuse("unknown-port", message, Place(document, ("metrics", "port")), help_)

    def _fit(self, manifest: Manifest, role: str, place: Place) -> None:
        """Whether the manifest is of the kind that the role's name asks for."""
        name, kind = manifest.name, manifest.kind
        wanted = _kind(role)
        if kind == wanted:
            return
        if kind in RESERVED:
            key = "kind" if kind == ROUTER else "manifest"
            help_ = f'write `{key} = "{name}"` in `[{kind}]`'
        elif kind == "engine":
            workers = ", ".join(f"`[roles.{worker}]`" for worker in WORKERS)
            near = self.linking.suggestions.nearest(role, WORKERS)
            help_ = f"did you mean `[roles.{near}]`?" if near else f"engines run in {workers}"
        else:
            help_ = f"name a role manifest of kind `{wanted}`"
        what = f"`[{role}]`" if role in RESERVED else f"role `{role}`"
        message = f"{what} takes {_ARTICLE[wanted]}, and `{name}` is {_ARTICLE[kind]}"
        self.linking.refuse("manifest-kind", message, place, help_)


def _kind(role: str) -> str:
    return role if role in RESERVED else "engine" if role in WORKERS else "service"


_ARTICLE = {"router": "a router", "engine": "an engine", "service": "a service", "benchmark": "a benchmark"}
