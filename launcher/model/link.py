"""Linking: recipe, cluster and role manifests become one job, or everything that is wrong with them is said."""

from dataclasses import dataclass

from launcher.model.catalogue import Catalogue
from launcher.model.equipment import Equipment
from launcher.model.job import Job
from launcher.model.library import Library
from launcher.model.linking import Linking, table, text
from launcher.model.lock import Lock, Locks
from launcher.model.option import PROGRAMS, known
from launcher.model.recipe import Recipe
from launcher.model.site import Site, site
from launcher.model.source import Edit, Source, source
from launcher.model.staff import Staff
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Label, Place, Refused, errors

__all__ = ["Edit", "Request", "Unlinked", "link"]


@record
class Request:
    """What is to be linked. `recipe` is PATH or PATH:VARIANT, `cluster` a name or a file.

    `sets` (`KEY=VALUE`) are applied in their order, then `unsets` (`KEY`), then `edits`, which can be both
    in the order of the command line. `named` is the file that names the cluster, where it is not the command line.
    With `simulate` the job is rehearsed: on this machine a model alias then stands for itself. With `relock` the lock
    is to be written anew: of what it has, only images that were built count.
    """

    recipe: str
    cluster: str = "local"
    sets: tuple[str, ...] = ()
    unsets: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    named: Place | None = None
    simulate: bool = False
    relock: bool = False


@dataclass(eq=False)
class Unlinked(Refused):
    """Refused, and what there is of the job all the same: not all of its roles, images or models."""

    job: Job | None = None


def link(library: Library, request: Request) -> Job:
    """The job that a request means. Raises Refused with all that is wrong; Unlinked where roles can be checked yet."""
    linking = Linking(library)
    place = site(linking, request.cluster, request.named)
    edits = (*map(Edit, request.sets), *(Edit(word, unset=True) for word in request.unsets), *request.edits)
    recipe = source(linking, request.recipe, place.cluster.name if place else request.cluster, edits)
    if recipe is None:
        raise Refused(_once(linking.findings))
    roles = Staff(linking, recipe, place, Equipment(linking), _locks(linking, place, request.relock)).roles()
    # A rehearsal on this machine reads no model.
    if place is not None and not (request.simulate and place.cluster.scheduler == "local"):
        _model(linking, recipe, place)
    options = _options(linking, recipe, place)
    if place is None or not recipe.typed(linking.findings):
        raise Refused(_once(linking.findings))
    job = Job(
        # Of a recipe that is none, roles alone are looked at.
        recipe=recipe.recipe or Recipe.model_construct(schema_=1, name=""),
        document=recipe.document,
        cluster=place.cluster,
        cluster_document=place.documents[-1],
        roles=roles,
        origins=recipe.origins,
        cluster_origins=place.origins,
        manifests=tuple(library.manifests()),
        findings=tuple(linking.findings),
        options=options,
        option=place.option,
        lock_option=library.lock_option(),
    )
    if errors(linking.findings):
        raise Unlinked(_once(linking.findings), job)
    return job


def _locks(linking: Linking, place: Site | None, built: bool) -> Locks | None:
    """The project's lock, where images count."""
    if place is None or not place.containers:
        return None
    try:
        document = linking.library.lock()
    except Refused as refused:
        linking.findings.extend(refused.diagnostics)
        return None
    found = linking.read(Lock, document) if document else None
    return Locks(found, document, built) if found and document else None


def _options(linking: Linking, recipe: Source, place: Site | None) -> dict[str, tuple[Catalogue, ...]]:
    """The catalogues of Slurm's programs that get options of their own; read only then."""
    found: dict[str, tuple[Catalogue, ...]] = {}
    if place is None or recipe.recipe is None or place.cluster.scheduler == "local":
        return found
    for program in PROGRAMS:
        if getattr(place.cluster.slurm, program) or getattr(recipe.recipe.slurm, program):
            try:
                found[program] = known(linking.library, program, place.cluster.versions.slurm)
            except Refused as refused:
                linking.findings.extend(refused.diagnostics)
    return found


def _model(linking: Linking, recipe: Source, place: Site) -> None:
    """A model path that is no absolute path is an alias of the cluster."""
    alias, known = text(table(recipe.data, "model"), "path"), place.cluster.models
    if not alias or alias.startswith("/") or alias in known:
        return
    near = linking.suggestions.nearest(alias, known)
    others = "" if near else "; others go into `[models]` of the cluster file"
    folder = f"{others} (a folder is named by its whole path: `/path/to/it`)"
    label = Label(place.origins.place(("models",), "key"), f"its aliases: {len(known)}")
    finding = Diagnostic(
        "unknown-model",
        f"cluster `{place.cluster.name}` has no model alias `{alias}`",
        recipe.origins.place(("model", "path")),
        labels=(label,) if known else (),
        help=f"{linking.known(alias, known, 'model aliases')}{folder}",
    )
    linking.findings.append(finding)


def _once(findings: list[Diagnostic]) -> list[Diagnostic]:
    """Each fault once: what is wrong in a file is wrong in what was merged from it too."""
    found: dict[object, Diagnostic] = {}
    for finding in findings:
        # Several keys may be missing in one table; a variant's table has another name once it is merged.
        which = finding.help if finding.code == "missing-key" else None
        found.setdefault((finding.code, finding.place or finding.message, which), finding)
    return list(found.values())
