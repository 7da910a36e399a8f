"""`launch.lock`: made, compared, and written under a lock of its own."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from launcher.checks.images import about
from launcher.execute import reading
from launcher.execute.folder import above, exists
from launcher.execute.held import Held, editing
from launcher.execute.images import answers
from launcher.execute.images.failure import CODES, EXITS, Failure, Kind
from launcher.execute.interrupt import abreast
from launcher.execute.library import Files
from launcher.execute.told import Told
from launcher.execute.world import World
from launcher.images import locking, reference
from launcher.images.locking import Entry
from launcher.model.cluster import ARCHITECTURES
from launcher.model.facts import Answer, Header, Image, Tag
from launcher.model.linking import Linking
from launcher.model.lock import FILE, Lock, LockedImage
from launcher.model.manifest import Manifest
from launcher.model.option import queued
from launcher.model.site import Site
from launcher.run import files
from launcher.text.diagnostic import Diagnostic, Place, Refused, refusal
from launcher.text.parse import parse

_USUAL = ("sh", "bash", "env", "python3")
_PIECE = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """An alias that can be locked: what it means for nodes of `arch` (None: nobody says), and where that is written.
    `built` is what the lock has of one that is a definition, or means what was built of one.
    """

    alias: str
    arch: str | None
    reference: str
    question: Tag | Header
    place: Place
    built: LockedImage | None = None


def path(directory: Path = Path()) -> Path:
    """The project's lock: the nearest above `directory`, else one in it."""
    return above(directory, FILE) or directory / FILE


def read(file: Path) -> Lock | None:
    """What the file has; None where there is none. Raises Refused."""
    if not exists(file):
        return None
    linking = Linking(Files())
    found = linking.read(Lock, parse(str(file), reading.document_text(file, str(file))))
    if found is None:
        raise Refused(linking.findings)
    return found


def every(site: Site, lock: Lock | None = None) -> Mapping[str, Sequence[str | None]]:
    """Alias → architectures: that of the cluster's nodes, and those that it has references of its own for, or that it
    was built for.
    """
    built: dict[str, list[str]] = {}
    for each in lock.image if lock else ():
        if each.cluster == site.cluster.name and each.build:
            built.setdefault(each.alias, []).append(each.arch)
    own = {
        name: built.get(name, []) if image.build else [arch for arch in ARCHITECTURES if getattr(image, arch)]
        for name, image in site.cluster.images.items()
    }
    first = (site.cluster.arch,) if site.cluster.arch else ()
    return {name: tuple(dict.fromkeys((*first, *arches))) or (None,) for name, arches in own.items()}


def wanted(
    site: Site,
    aliases: Sequence[str] = (),
    arches: Mapping[str, Sequence[str | None]] | None = None,
    lock: Lock | None = None,
) -> list[Wanted]:
    """Those of a cluster's aliases, or all; for its own nodes where `arches` does not say for which. One that is a
    definition means what `lock` says was built; one that was not built is left out.

    Raises Refused for one that it does not have, and for what is no reference.
    """
    cluster = site.cluster
    for alias in aliases:
        if alias not in cluster.images:
            message = f"cluster `{cluster.name}` has no image alias `{alias}`"
            raise refusal("unknown-image", message, Linking(Files()).known(alias, cluster.images, "image aliases"))
    sought, found, findings = _sought(), [], []
    for alias in aliases or sorted(cluster.images):
        for arch in (arches or {}).get(alias, (cluster.arch,)):
            try:
                one = _meant(site, alias, arch, _built(site, alias, lock, arch), sought)
            except Refused as refused:
                findings += refused.diagnostics
                continue
            found += [one] if one is not None else []
    if findings:
        raise Refused(findings)
    return found


def _meant(
    site: Site, alias: str, arch: str | None, built: LockedImage | None, sought: tuple[tuple[str, ...], ...]
) -> Wanted | None:
    """What an alias means for such nodes; None where nobody can be asked. Raises Refused for what is no reference."""
    image = site.cluster.images[alias]
    key, text = ("build", built.reference) if image.build and built else (image.key(arch), image.meant(arch))
    if key is None or text is None:
        return None
    whole = ("images", alias, key)
    place = site.origins.place(whole if whole in site.origins.chains else whole[:2])
    try:
        reference.parse(text)
    except ValueError as error:
        advice = "`launch explain image-unusable` shows what is taken"
        raise Refused([Diagnostic("image-unusable", str(error), place, help=advice, exit=4)]) from error
    question = about(text, site.cluster.model_copy(update={"arch": arch}), *sought)
    if isinstance(question, Header) and image.where == "compute":
        question = Header(question.path, compute=queued(site.cluster.slurm))
    return Wanted(alias, arch, text, question, place, built) if question is not None else None


def bashed(site: Site) -> frozenset[str]:
    """Aliases whose images are to have bash: the cluster's preamble is written for it, or that of a role manifest."""
    cluster = site.cluster
    if cluster.setup is not None and locking.bashed(cluster.setup.inline):
        return frozenset(cluster.images)
    return frozenset(each.image for each in _manifests() if each.image and locking.bashed(each.setup or ""))


def means(site: Site, held: LockedImage) -> bool:
    """Whether an alias of the cluster means what was locked; one that is a definition means what was built."""
    image = site.cluster.images.get(held.alias) if held.cluster == site.cluster.name else None
    return image is not None and (image.build is not None or image.meant(held.arch) == held.reference)


def _built(site: Site, alias: str, lock: Lock | None, arch: str | None) -> LockedImage | None:
    """What was built for the alias, which is a definition or means that; where nobody says what the nodes are, the
    only one.
    """
    found = [
        each
        for each in (lock.image if lock else ())
        if each.alias == alias and each.build and arch in (None, each.arch) and means(site, each)
    ]
    return found[0] if len(found) == 1 else None


def looked(site: Site, reference: str, arch: str, told: Told) -> tuple[Image, str | None]:
    """What an image for nodes of `arch` is now, and the sha256 of a file. Raises Failure."""
    question = about(reference, site.cluster.model_copy(update={"arch": arch}), *_sought())
    if question is None:
        raise Failure("faulty", f"`{reference}` can be asked about nowhere")
    answer = answers.answer(question)
    if answer.image is None:
        raise Failure(cast("Kind", answer.fault or "absent"), answer.text, answer.advice)
    return answer.image, digest(Path(question.path), told) if isinstance(question, Header) else None


def asked(
    world: World, site: Site, aliases: Iterable[Wanted], *, hashed: bool, told: Told
) -> tuple[list[LockedImage], list[Diagnostic]]:
    """What there is now of each, several at a time, and what could not be found out. `hashed`: files to the byte."""
    each = list(aliases)
    found = list(abreast(lambda one: answers.answer(one.question), each, 8))
    locked, findings = [], []
    for one, answer in zip(each, found, strict=True):
        if answer.image is None:
            findings.append(_refused(one, answer))
            continue
        arch = answer.image.arch or one.arch
        if arch not in ("x86_64", "aarch64"):
            message = f"nobody says for which nodes the image `{one.alias}` is"
            findings.append(Diagnostic("image-architecture", message, one.place, help="say `arch` in the cluster file"))
            continue
        if one.arch and arch != one.arch:
            message = f"the image `{one.alias}` is for {arch}, and the nodes are {one.arch}"
            help_ = f"name one for {one.arch}, or correct `arch` of the cluster file"
            findings.append(Diagnostic("image-of-other-nodes", message, one.place, help=help_, exit=4))
            continue
        # Of a file that nodes alone see, size and architecture are what is known.
        file = one.question.path if isinstance(one.question, Header) and one.question.compute is None else None
        sha256 = digest(Path(file), told) if hashed and file is not None else None
        entry = Entry(site.cluster.name, one.alias, arch)
        locked.append(locking.again(locking.locked(entry, one.reference, answer.image, sha256), one.built))
    return locked, findings


def write(world: World, file: Path, change: Callable[[Lock | None], Lock], told: Told) -> Lock:
    """The file with the change made to what it has by then. Raises Refused and OSError."""
    try:
        with editing(world, file, told, "writing") as place:
            new = change(read(file))
            files.write(str(place), locking.written(new).encode("utf-8"), 0o644)
            return new
    except Held as error:
        raise refusal("file-locked", f"`{file}` is being written: {error}", "try again", 1) from error


def digest(file: Path, told: Told) -> str:
    """sha256 of a file, in hexadecimal."""
    told(f"reading {file}")
    made = hashlib.sha256()
    with file.open("rb") as content:
        while piece := content.read(_PIECE):
            made.update(piece)
    return made.hexdigest()


def _refused(one: Wanted, answer: Answer) -> Diagnostic:
    code, status = CODES.get(answer.fault, "image-absent"), EXITS.get(answer.fault, 4)
    return Diagnostic(code, answer.text, one.place, help=answer.advice, exit=status)


def _sought() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Programs and packages that role manifests and catalogues know: what is worth recording of an image."""
    programs, packages = dict.fromkeys(_USUAL), dict[str, None]()
    for manifest in _manifests():
        programs.update(dict.fromkeys(manifest.program.needs))
        packages.update({manifest.program.name: None} if manifest.program.name else {})
    packages.update(dict.fromkeys(Files().catalogues.programs()))
    return tuple(sorted(programs)), tuple(sorted(packages))


def _manifests() -> Iterator[Manifest]:
    """Role manifests that can be read."""
    library = Files()
    linking = Linking(library)
    for name in library.manifests():
        document = library.manifest(name)
        manifest = linking.read(Manifest, document) if document else None
        if manifest is not None:
            yield manifest
