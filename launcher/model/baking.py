"""Roles whose image was baked: with just their preamble, which then is not run again, or with another."""

from dataclasses import replace

from launcher.model.bake import digest
from launcher.model.cluster import Baked
from launcher.model.draft import Draft, preamble
from launcher.model.draft import reference as meant
from launcher.model.job import Origin
from launcher.model.linking import Linking, table, text
from launcher.model.lock import LockedImage
from launcher.model.site import Site
from launcher.run.record import record
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Label, Severity
from launcher.text.document import KeyPath


@record
class Bake:
    """How a role's image was baked. `own` tells whether the role has a preamble; it `fits` where it was just that."""

    of: Baked
    own: bool
    fits: bool = True


def bake(linking: Linking, site: Site | None, draft: Draft) -> Bake | None:
    """How the role's image was baked, and whether with just its preamble; None for one that was not."""
    alias = text(draft.data, "image")
    image = site.cluster.images.get(alias) if site and site.containers and alias else None
    of = image.derived(site.cluster.arch) if site and image else None
    if site is None or of is None:
        return None
    # What is wrong with the preamble is told by whoever reads it for the role.
    own = preamble(replace(linking, findings=[]), draft)
    if own is None or not own.strip():
        return Bake(of, own=False)
    shared = [site.cluster.setup.inline] if site.cluster.setup else []
    env = {name: value for name, value in table(draft.data, "env").items() if isinstance(value, str)}
    return Bake(of, own=True, fits=of.setup == digest([*shared, own], env))


def reference(linking: Linking, site: Site, draft: Draft, baked: Bake | None, held: LockedImage | None) -> str | None:
    """What the role's image alias means: of an image that was baked with another preamble, what was baked."""
    alias = text(draft.data, "image")
    if baked is None or baked.fits or alias is None:
        return meant(linking, site, draft, held)
    path: KeyPath = ("images", alias, "baked", "base")
    chain: tuple[Origin, ...] = site.origins.chains.get(path, ())
    draft.chains["reference",] = chain
    _stale(linking, site, draft, alias)
    return baked.of.base


def _stale(linking: Linking, site: Site, draft: Draft, alias: str) -> None:
    place = site.origins.place(("images", alias, "baked", "setup"))
    warning = Diagnostic(
        "bake-stale",
        f"image alias `{alias}` was baked with another preamble than that of role `{draft.name}`, which runs again",
        draft.place("setup"),
        Severity.WARNING,
        labels=(Label(place, "what was baked"),),
        help=f"{typed('images bake RECIPE', site.option)} bakes it anew",
    )
    linking.findings.append(warning)
