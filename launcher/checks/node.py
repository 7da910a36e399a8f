"""A cluster file against one of the site's compute nodes."""

from collections.abc import Iterator, Mapping, Sequence

from launcher.checks.survey import LOGIN, Entry, Rule, Subject
from launcher.images.importing import SQUASH
from launcher.images.reference import HUB, Reference, number, parse
from launcher.model.survey import Told
from launcher.text.diagnostic import Diagnostic, Severity
from launcher.text.document import KeyPath

_OLDEST = (3, 9)
_DRIVER = "nvidia-smi"
_HUB = ("registry-1.docker.io", "auth.docker.io", "index.docker.io")


def compared(subject: Subject) -> list[Entry]:
    """Everything that can be compared, what Slurm tells first."""
    return [entry for rule in (*LOGIN, *NODE) for entry in rule(subject)]


def arch(subject: Subject) -> Iterator[Entry]:
    """What the node runs on."""
    for told in _told(subject):
        known = told.arch in ("x86_64", "aarch64")
        fits = subject.said("arch") == told.arch
        known = known and subject.site.cluster.scheduler == "slurm"
        yield subject.entry(("arch",), told.arch, fits=fits, better=told.arch if known else None)


def python(subject: Subject) -> Iterator[Entry]:
    """The Python that runs the supervisor."""
    for told in _told(subject):
        wanted = subject.site.cluster.python
        if number(told.python) >= _OLDEST:
            yield Entry(("python",), wanted, f"{told.python} on {told.node}", "same")
            continue
        state = f"is {told.python}" if told.python else "cannot be run"
        better = next(iter(told.pythons), None)
        others = ", ".join(f"{path} ({version})" for path, version in told.pythons.items())
        message = f"`{wanted}` {state} on {told.node}, and the supervisor wants 3.9 or newer"
        advice = f'`python = "{better}"` is there' if better else "none was found on its PATH: name one by its path"
        finding = Diagnostic("cluster-differs", message, subject.place("python"), help=advice)
        yield Entry(("python",), wanted, others or "none is new enough", "differs", better, finding)


def runtime(subject: Subject) -> Iterator[Entry]:
    """Versions of what starts containers."""
    cluster = subject.site.cluster
    for told in _told(subject):
        for program, wanted in (("enroot", "pyxis"), ("apptainer", "apptainer")):
            here = ".".join(map(str, number(told.programs.get(program, "").rpartition(" ")[2])))
            needed = cluster.runtime == wanted
            if not here and needed and program == "apptainer":
                message = f"there is no program `apptainer` on {told.node}"
                advice = "is there a module of it? steps get the PATH of the submitting shell"
                yield subject.entry(("runtime",), "no apptainer", fits=False, message=message, advice=advice)
            if here:
                said = number(subject.said("versions", program) or "")
                fits = bool(said) and number(here)[: len(said)] == said
                yield subject.entry(("versions", program), here, fits=fits, better=here if needed else None)
        if cluster.runtime != "none" and not told.namespaces:
            yield Entry(("runtime",), cluster.runtime, "no user namespaces for ordinary users", "noted")


def interface(subject: Subject) -> Iterator[Entry]:
    """The interface whose addresses roles are told."""
    for told in _told(subject):
        there = {name: address for name, address in told.interfaces.items() if address}
        shown = ", ".join(f"{name} {address}" for name, address in there.items()) or "none has an address"
        said = subject.said("interface")
        lacks = "has no IPv4 address" if said in told.interfaces else "does not exist"
        message = f"interface `{said}` {lacks} on {told.node}"
        advice = f"there are {shown}" if there else ""
        yield subject.entry(("interface",), shown, fits=said in there, message=message, advice=advice)


def driver(subject: Subject) -> Iterator[Entry]:
    """The version of the GPU driver."""
    for told in _told(subject):
        here = told.programs.get(_DRIVER, "").partition(",")[0].strip()
        if number(here):
            said = number(subject.said("node", "driver") or "")
            fits = bool(said) and number(here)[: len(said)] == said
            yield subject.entry(("node", "driver"), here, fits=fits, better=here)


def squashfuse(subject: Subject) -> Iterator[Entry]:
    """How the plugin is set up."""
    for told in _told(subject):
        words = {word for line in told.plugstack for word in line.split()}
        if not words:
            continue
        here, said = "use_squashfuse=1" in words, subject.said("pyxis", "squashfuse")
        better = here if here or said else None
        fits = said is None or bool(said) == here
        yield subject.entry(("pyxis", "squashfuse"), str(here).lower(), fits=fits, better=better)


def compressor(subject: Subject) -> Iterator[Entry]:
    """What image files of the store may be compressed by."""
    store = subject.site.cluster.store
    for told in _told(subject):
        reads = _reads(told, subject)
        if not reads:
            continue
        key, here = ("store", "compressor"), ", ".join(reads)
        said = store.compressor if store is not None else None
        if said is None or said in reads:
            yield Entry(key, subject.said(*key) or "", here, "noted" if subject.said(*key) is None else "same")
            continue
        better = next((name for name in SQUASH if name in reads), None)
        message = f"{told.node} reads no image compressed by {said}"
        advice = f'`compressor = "{better}"` is what starts containers quickest of what it reads' if better else None
        finding = Diagnostic("cluster-differs", message, subject.place(*key), help=advice)
        yield Entry(key, said, here, "differs", better, finding)


def _reads(told: Told, subject: Subject) -> tuple[str, ...]:
    """Compressors of the image files that a node reads: enroot unpacks them by `unsquashfs`, Apptainer has the kernel
    mount them, or does as enroot.
    """
    runtime = subject.site.cluster.runtime
    more = told.kernel if runtime == "apptainer" else ()
    return () if runtime == "none" else tuple(dict.fromkeys((*told.compressors, *more)))


def images(subject: Subject) -> Iterator[Entry]:
    """What image files are compressed by."""
    named = dict(_named(subject))
    for told in _told(subject):
        reads = _reads(told, subject)
        for path, compressor in subject.survey.images.items():
            if not reads or compressor in reads:
                continue
            state = f"is compressed by {compressor}, which {told.node} does not read"
            advice = f"make it anew: {', '.join(reads)} are read there"
            for key in named.get(path, ()):
                yield from _lacking(subject, key, path, state, advice)


def folders(subject: Subject) -> Iterator[Entry]:
    """Folders that runs write in, and the store of images."""
    for told in _told(subject):
        for name, shared in told.shared.items():
            key = tuple(name.split("."))
            message = f"`{subject.said(*key)}` is not the same folder on {told.node} as here"
            advice = "name a folder on a file system that login and compute nodes share"
            here = f"shared with {told.node}" if shared else f"another on {told.node}"
            yield subject.entry(key, here, fits=shared, message=message, advice=advice)
        for name in told.closed:
            key = tuple(name.split("."))
            path = subject.said(*key) or subject.site.cluster.node.local
            yield from _lacking(subject, key, path, f"cannot be written to on {told.node}")


def files(subject: Subject) -> Iterator[Entry]:
    """Image files, models and sources of mounts."""
    named = dict(_named(subject))
    for told in _told(subject):
        for path in told.missing:
            for key in named.get(path, ()):
                yield from _lacking(subject, key, path, f"does not exist on {told.node}")


def credentials(subject: Subject) -> Iterator[Entry]:
    """Registries that images come from, and who has credentials for them; never the credentials."""
    for told in _told(subject):
        for each in told.credentials:
            finding = Diagnostic(
                "credentials-exposed",
                f"others can read `{each.file}`",
                None,
                Severity.WARNING,
                help=f"`chmod 600 {each.file}`",
            )
            hosts = ", ".join(each.hosts) or "no host"
            yield Entry(("credentials",), each.file, hosts, "noted", finding=finding if each.exposed else None)
        have = {host for each in told.credentials for host in each.hosts}
        for registry in _registries(subject):
            names = {registry, registry.partition(":")[0], *(_HUB if registry == HUB else ())}
            yield Entry(("images",), registry, f"with{'' if names & have else 'out'} credentials", "noted")


def _registries(subject: Subject) -> Sequence[str]:
    found = []
    for image in subject.site.cluster.images.values():
        try:
            source = parse(image.meant(subject.site.cluster.arch) or "")
        except ValueError:
            continue
        if isinstance(source, Reference):
            found.append(source.registry)
    return list(dict.fromkeys(found))


def _named(subject: Subject) -> Mapping[str, list[KeyPath]]:
    """Path → the keys that name it."""
    cluster = subject.site.cluster
    images = [(image.meant(cluster.arch) or "", name) for name, image in cluster.images.items()]
    pairs: list[tuple[str, KeyPath]] = [(reference, ("images", name)) for reference, name in images]
    pairs += [(model.path, ("models", name)) for name, model in cluster.models.items()]
    pairs += [(mount.source, ("mounts", index)) for index, mount in enumerate(cluster.mounts)]
    found: dict[str, list[KeyPath]] = {}
    for path, key in pairs:
        found.setdefault(path.removeprefix("file://"), []).append(key)
    return found


def _lacking(subject: Subject, key: KeyPath, path: str, state: str, advice: str | None = None) -> Iterator[Entry]:
    finding = Diagnostic("cluster-differs", f"`{path}` {state}", subject.site.origins.place(key), help=advice)
    yield Entry(key, path, state, "differs", finding=finding)


def _told(subject: Subject) -> Iterator[Told]:
    if subject.survey.told is not None:
        yield subject.survey.told


NODE: Sequence[Rule] = (
    *(arch, python, runtime, interface, driver, squashfuse, compressor, images, folders, files),
    credentials,
)
"""What only a compute node tells."""
