"""The roles of a link: each put together from cluster, role manifest, `[defaults]` and its own table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from launcher.model.baking import Bake, bake, reference
from launcher.model.catalogue import Catalogue, stand_in
from launcher.model.draft import MANIFEST, Draft, configuration, locked, mounts, preamble, version
from launcher.model.equipment import Equipment, Kit
from launcher.model.job import BENCHMARK, ROUTER, WORKERS, Origins, Role
from launcher.model.kin import Kin
from launcher.model.linking import Linking, table, text
from launcher.model.lock import LockedImage, Locks
from launcher.model.manifest import Implied, Manifest
from launcher.model.merge import Identity, Layer, below, merge
from launcher.model.recipe import NO_ROUTER
from launcher.model.site import Site
from launcher.model.source import Source
from launcher.model.spelling import program_key, role_key
from launcher.model.value import RESERVED
from launcher.run.record import record
from launcher.text.diagnostic import Refused
from launcher.text.document import dotted

_UNNAMED = {ROUTER: "`[router]` names no router", BENCHMARK: "`[benchmark]` has no role manifest"}

_LAID_UNDER = ("image", "env", "flags", "setup")
"""Keys of a role manifest that lie under the recipe's."""

_SHARED = ("image", "setup", "setup_file", "env", "env_from", "mounts", "epp_config")
"""Keys of `[router]` that lie under those of the roles it brings along; `on` too, for those that name no place."""


@record
class Post:
    """A role that is to be filled: `path` is its table in the recipe, `own` what the recipe says there, `home` where
    people look for what it is made from.
    """

    name: str
    path: tuple[str, ...]
    own: Sequence[Layer]
    home: tuple[str, ...]
    beside: str | None = None

    @property
    def key(self) -> str:
        """The key that names the role manifest."""
        return "kind" if self.name == ROUTER else "manifest"


@record
class Staff:
    """What all roles of one link are made from."""

    linking: Linking
    source: Source
    site: Site | None
    equipment: Equipment
    locks: Locks | None = None

    def roles(self) -> tuple[Role, ...]:
        """Workers in recipe order, then others, what the router brings along, the router, the benchmark.

        Not all of them where there are findings.
        """
        names = [name for name in table(self.source.data, "roles") if name not in RESERVED]
        names.sort(key=lambda name: name not in WORKERS)
        router = self._post(ROUTER, (ROUTER,))
        before = len(self.linking.findings)
        kit = self._kit(router)
        # What is wrong with the router is told after what is wrong with workers.
        told = self.linking.findings[before:]
        del self.linking.findings[before:]
        brought = {each.role for each in kit.manifest.implies} if kit else set()
        found = [self._filled(self._post(name, ("roles", name))) for name in names if name not in brought]
        self.linking.findings.extend(told)
        found += [self._filled(post) for post in (*self._brought(kit, names), router)]
        if self.source.written((BENCHMARK,)):
            found.append(self._filled(self._post(BENCHMARK, (BENCHMARK,))))
        return tuple(role for role in found if role is not None)

    def _brought(self, kit: Kit | None, names: Sequence[str]) -> Iterator[Post]:
        """The roles that the router brings along."""
        for index, each in enumerate(kit.manifest.implies if kit else ()):
            if kit is not None and self._wanted(each, names):
                yield self._implied(kit, index)

    def _post(self, name: str, path: tuple[str, ...]) -> Post:
        own = below(self.source.layers, path, f"[{dotted(path)}]")
        under = below(self.source.layers, ("defaults",), "[defaults]") if name in WORKERS else ()
        return Post(name, path, (*under, *own), path)

    def _implied(self, kit: Kit, index: int) -> Post:
        """A role that the router brings along."""
        each = kit.manifest.implies[index]
        said = {key: value for key, value in (("manifest", each.manifest), ("on", each.on)) if value is not None}
        base = Layer(MANIFEST, kit.document, said, ("implies", index))
        shared = (*_SHARED, *(("on",) if each.on is None and each.beside is None else ()))
        path = ("roles", each.role)
        under = (
            replace(layer, data={key: layer.data[key] for key in shared if key in layer.data})
            for layer in below(self.source.layers, (ROUTER,), f"[{ROUTER}]")
        )
        own = below(self.source.layers, path, f"[{dotted(path)}]")
        home = path if self.source.written(path) else (ROUTER, "kind")
        return Post(each.role, path, (base, *under, *own), home, each.beside)

    def _wanted(self, each: Implied, names: Sequence[str]) -> bool:
        """Whether the deployment has the role; where it has not, a recipe that changes it is refused."""
        halves = any(WORKERS.get(name) in ("prefill", "decode") for name in names)
        if each.when == "always" or halves == (each.when == "disaggregated"):
            return True
        if each.role in names:
            message = f"there is no `{each.role}` in this deployment"
            needs = "`prefill` and `decode`" if not halves else "`worker`"
            help_ = f"take the table out: the router brings it along for {needs}"
            self.linking.refuse(
                "role-not-started", message, self.source.origins.place(("roles", each.role), "key"), help_
            )
        return False

    def _filled(self, post: Post) -> Role | None:
        kit = self._kit(post)
        if kit is None:
            return None
        library = self.linking.library
        first = self._draft(post, kit, role_key)
        baked = bake(self.linking, self.site, first)
        # What was baked is not what was locked.
        held = locked(self.linking, self.site, first, self.locks if baked is None or baked.fits else None)
        found = version(library, self.site, first, held)
        catalogue = self._catalogue(kit.manifest, found)
        identity = program_key(catalogue, kit.manifest) if catalogue else role_key
        draft = self._draft(post, kit, identity)
        version(library, self.site, draft, held)
        self.linking.twice(draft.twice)
        meant = reference(self.linking, self.site, draft, baked, held) if self.site else None
        setup = preamble(self.linking, draft)
        epp, config = (configuration(self.linking, draft, key, identity) for key in ("epp_config", "config"))
        # What is wrong elsewhere hides nothing of this role.
        if self.site is None or not self.source.typed(self.linking.findings):
            return None
        kin = self._kin([*table(draft.data, "flags"), *(config or ())], catalogue)
        fixed = Fixed(meant, found, setup, catalogue, kin, held, post.beside, epp, config or {}, baked)
        return _role(self.site, draft, fixed)

    def _kit(self, post: Post) -> Kit | None:
        """The role manifest that a role names."""
        merged = merge(post.own, role_key)
        data, chains = merged.data(), merged.chains()
        name = text(data, post.key)
        if name is None and post.name == ROUTER and not self.source.written(post.path):
            name = NO_ROUTER
        if name is not None:
            place = Origins(chains, self.source.document).place((post.key,))
            return self.equipment.kit(name, post.name, place)
        # A value of a wrong type has been refused already.
        if post.key not in data:
            self._unnamed(post)
        return None

    def _unnamed(self, post: Post) -> None:
        what = _UNNAMED.get(post.name, f"role `{post.name}` has no role manifest")
        known = ", ".join(f"`{name}`" for name in self.linking.library.manifests())
        help_ = f'add `{post.key} = "…"`: one of {known}'
        near = None if post.name in (*WORKERS, *RESERVED) else self.linking.suggestions.nearest(post.name, WORKERS)
        if near:
            help_ = f"did you mean `[roles.{near}]`?"
        self.linking.refuse("missing-manifest", what, self.source.origins.place(post.path, "key"), help_)

    def _draft(self, post: Post, kit: Kit, identity: Identity) -> Draft:
        under = {key: kit.document.data[key] for key in _LAID_UNDER if key in kit.document.data}
        cluster = self.site.layers("env") if self.site else []
        merged = merge([*cluster, Layer(MANIFEST, kit.document, under), *post.own], identity)
        chains = merged.chains()
        home = self.source.origins.chains.get(post.home, ())
        return Draft(post.name, kit, merged.data(), {**chains, (): home}, self.source.document, merged.twice)

    def _catalogue(self, manifest: Manifest, wanted: str | None) -> Catalogue | None:
        """The flag catalogue of the role's program: of that version, else of the nearest there is."""
        library, name = self.linking.library, manifest.program.name
        if name is None:
            return None
        try:
            found = library.catalogue(name, wanted) if wanted else None
            if found is not None:
                return found
            other = stand_in(wanted, library.versions(name))
            return library.catalogue(name, other) if other else None
        except Refused as refused:
            self.linking.findings.extend(refused.diagnostics)
            return None

    def _kin(self, flags: Sequence[str], catalogue: Catalogue | None) -> Kin | None:
        """What says more about a flag that the catalogue has not; read only then."""
        if catalogue is None or all(flag and not flag.retired for flag in map(catalogue.find, flags)):
            return None
        try:
            return self.linking.library.kin(catalogue.program, catalogue.version)
        except Refused as refused:
            self.linking.findings.extend(refused.diagnostics)
            return None


@record
class Fixed:
    """What was found out about a role beside what was merged."""

    reference: str | None
    version: str | None
    setup: str | None
    catalogue: Catalogue | None
    kin: Kin | None
    locked: LockedImage | None
    beside: str | None
    epp: Mapping[str, Any] | None
    config: Mapping[str, Any]
    baked: Bake | None


def _role(site: Site, draft: Draft, fixed: Fixed) -> Role:
    """The role, everything in it validated in the file it came from."""
    data = draft.data
    baked = fixed.baked if fixed.baked and fixed.baked.fits else None
    return Role(
        name=draft.name,
        mode=WORKERS.get(draft.name),
        manifest=draft.kit.manifest,
        # Mounts last change the chains; `Origins` then holds them.
        mounts=mounts(site, draft),
        origins=Origins(draft.chains, draft.fallback),
        image=data.get("image"),
        reference=fixed.reference,
        version=fixed.version,
        preamble=fixed.setup,
        setup=None if baked else fixed.setup,
        baked=baked.of if baked and baked.own else None,
        # Without a preamble of its own, a role has its image's exports as it has the image's variables.
        env={**(baked.of.variables if baked and not baked.own else {}), **data.get("env", {})},
        env_from=tuple(data.get("env_from", ())),
        flags=data.get("flags", {}),
        on=data.get("on"),
        gpus=data.get("gpus", 0),
        replicas=data.get("replicas", 1),
        config=fixed.config,
        kv=data.get("kv"),
        kv_events=data.get("kv_events", False),
        catalogue=fixed.catalogue,
        kin=fixed.kin,
        beside=fixed.beside,
        epp_config=fixed.epp,
        manifest_document=draft.kit.document,
        locked=fixed.locked,
    )
