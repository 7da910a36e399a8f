"""A cluster file against its site: what `launch cluster doctor` compares, key by key."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from launcher.checks.site import SINCE
from launcher.images.reference import number
from launcher.model.site import Site
from launcher.model.size import mebibytes
from launcher.model.survey import Shape, Survey, gpu, gpus
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Place, Severity
from launcher.text.document import KeyPath, dotted
from launcher.text.suggest import nearest

State = Literal["same", "differs", "unsaid", "noted", "unknown"]

CODES: Mapping[str, str] = {
    "cluster-differs": """The site is not as the cluster file says

`launch cluster doctor` asked Slurm and a compute node. What differs would make runs fail there, or render words for
other versions than the site's. `--write` corrects what the site tells for certain. Exit code 3.""",
    "cluster-incomplete": """The site tells more than the cluster file says

Checks and rendering know more with these keys: versions decide over spellings, the shape of nodes over what fits.
`launch cluster doctor --write` adds them, comments and order of the file kept. This is a warning.""",
    "site-unanswered": """A part of the site could not be asked

No compute node was free in time, or the program on it failed: what only a node knows (Python, interfaces, versions of
enroot and Apptainer, image files) is not compared. `--timeout 10m` waits longer; inside `salloc` its nodes are asked.
This is a warning.""",
    "credentials-exposed": """Others can read your credentials for a registry

enroot reads `~/.config/enroot/.credentials`, Apptainer `~/.apptainer/docker-config.json`. A file with a password in
it is yours alone to read: `chmod 600`. This is a warning.""",
}
"""Code → what `launch explain CODE` prints; the first line is its summary."""


@record
class Entry:
    """One line of the comparison. `said` is what the file says of `key`, `here` what was found, both as text; `better`
    is what the file should say where that is certain, None where not.
    """

    key: KeyPath
    said: str
    here: str
    state: State
    better: Any = None
    finding: Diagnostic | None = None


@record
class Subject:
    """A cluster file and what its site told."""

    site: Site
    survey: Survey

    def said(self, *key: str) -> Any:
        """What the files say of a key; None where they say nothing."""
        if key not in self.site.origins.chains:
            return None
        value: Any = self.site.cluster
        for part in key:
            value = getattr(value, part)
        return value

    def place(self, *key: str) -> Place:
        """Where a key is written, else the nearest table."""
        return self.site.origins.place(key)

    def entry(
        self, key: KeyPath, here: object, *, fits: bool, better: Any = None, message: str = "", advice: str = ""
    ) -> Entry:
        """A key that fits the site, does not, or is not said; `message` and `advice` are for one that does not."""
        said = self.said(*map(str, key))
        if said is None:
            return Entry(key, "", str(here), "noted" if better is None else "unsaid", better)
        if fits:
            return Entry(key, _text(said), str(here), "same")
        phrase = message or f"`{dotted(key)}` is `{_text(said)}` in the file, and `{here}` here"
        help_ = advice or ("`--write` corrects it" if better is not None else None)
        finding = Diagnostic("cluster-differs", phrase, self.place(*map(str, key)), help=help_)
        return Entry(key, _text(said), str(here), "differs", better, finding)


Rule = Callable[[Subject], Iterator[Entry]]


def slurm(subject: Subject) -> Iterator[Entry]:
    """Slurm's version; releases alone matter."""
    here, said = subject.survey.slurm, subject.said("versions", "slurm")
    if here:
        yield subject.entry(("versions", "slurm"), here, fits=_begins(here, said), better=here)


def pyxis(subject: Subject) -> Iterator[Entry]:
    """Pyxis and its version, as far as its options tell."""
    options = subject.survey.options
    if not options:
        return
    there = "container-image" in options
    if subject.site.cluster.runtime == "pyxis" and not there:
        message = "`srun` has no option `--container-image`: pyxis is not set up here"
        advice = '`runtime = "apptainer"`, or `"none"`; is this a login node of the cluster?'
        yield subject.entry(("runtime",), "no pyxis", fits=False, message=message, advice=advice)
    if not there:
        return
    low = max([since for option, since in SINCE.items() if option in options], default=(0, 1))
    high = min([since for option, since in SINCE.items() if option not in options], default=None)
    here = f"{_dotted(low)} or newer" if high is None else f"{_dotted(low)} to before {_dotted(high)}"
    said = number(subject.said("versions", "pyxis") or "")
    fits = said[:2] >= low and (high is None or said[:2] < high)
    better = f"{_dotted(low)}.0" if subject.site.cluster.runtime == "pyxis" else None
    yield subject.entry(("versions", "pyxis"), here, fits=fits, better=better)


def partition(subject: Subject) -> Iterator[Entry]:
    """The partition jobs go to."""
    names = list(dict.fromkeys(shape.partition for shape in subject.survey.shapes))
    said = subject.said("slurm", "partition")
    if not names or (said is not None and "," in said):
        return
    if said is not None and said not in names:
        like = nearest(said, names)
        advice = f"did you mean `{like}`?" if like else f"there are {_listed(names)}"
        message = f"there is no partition `{said}`"
        yield subject.entry(("slurm", "partition"), ", ".join(names), fits=False, message=message, advice=advice)
        return
    default = next((shape.partition for shape in subject.survey.shapes if shape.default), None)
    shown = said or (f"{default} (Slurm's default)" if default else "none is the default")
    yield subject.entry(("slurm", "partition"), shown, fits=True)


def account(subject: Subject) -> Iterator[Entry]:
    """The account that is charged, where Slurm keeps accounts."""
    names, said = subject.survey.accounts, subject.said("slurm", "account")
    if names is None:
        if said is not None:
            yield Entry(("slurm", "account"), said, "Slurm tells no accounts here", "unknown")
        return
    fits = said is None or said.lower() in map(str.lower, names)
    advice = f"did you mean `{like}`?" if (like := nearest(said or "", names)) else f"yours are {_listed(names)}"
    yield subject.entry(("slurm", "account"), ", ".join(names) or "none", fits=fits, advice=advice)


def mpi(subject: Subject) -> Iterator[Entry]:
    """The type of MPI of steps whose tasks are ranks."""
    types = subject.survey.mpis
    if not types:
        return
    wanted = subject.site.cluster.slurm.mpi
    if wanted in types:
        yield Entry(("slurm", "mpi"), _text(subject.said("slurm", "mpi") or ""), ", ".join(types), "same")
        return
    better = next((each for each in ("pmix", "pmi2") if each in types), None)
    message = f"Slurm has no MPI of type `{wanted}`"
    finding = Diagnostic("cluster-differs", message, subject.place("slurm", "mpi"), help=f"there are {_listed(types)}")
    yield Entry(("slurm", "mpi"), wanted, ", ".join(types), "differs", better, finding)


def kill_wait(subject: Subject) -> Iterator[Entry]:
    """KillWait: teardown has to be over by then."""
    words = subject.survey.settings.get("KillWait", "").split()
    if words and words[0].isdecimal():
        here, said = int(words[0]), subject.said("slurm", "kill_wait")
        # A file that says less is careful; one that says more is killed in the middle of its teardown.
        yield subject.entry(("slurm", "kill_wait"), here, fits=said is not None and said <= here, better=max(here, 2))


def segment(subject: Subject) -> Iterator[Entry]:
    """Whether `--segment` means something: topology/block of Slurm 24.05."""
    plugin = subject.survey.settings.get("TopologyPlugin")
    if plugin is None:
        return
    takes = plugin == "topology/block" and number(subject.survey.slurm) >= (24, 5)
    said = subject.said("topology", "segment")
    yield subject.entry(("topology", "segment"), plugin, fits=takes or not said, better=True if takes else None)


def shape(subject: Subject) -> Iterator[Entry]:
    """What nodes have, as Slurm counts it."""
    shapes = _shapes(subject)
    if not shapes:
        return
    least = min(shapes, key=lambda each: (gpus(each.gres), each.cpus, each.memory))
    alike = len({(each.cpus, each.memory, each.gres) for each in shapes}) == 1
    counted = subject.site.cluster.node.gpu_request != "none"
    yield from _shaped(subject, "gpus", gpus(least.gres), alike=alike and counted, counted=counted)
    yield from _shaped(subject, "cpus", least.cpus, alike=alike)
    memory = subject.said("node", "memory")
    fits = memory is not None and mebibytes(memory) <= least.memory
    better = f"{least.memory}M" if alike and least.memory else None
    message = f"`node.memory` is `{memory}` in the file, and Slurm's nodes have {least.memory}M"
    yield subject.entry(("node", "memory"), f"{least.memory}M", fits=fits, better=better, message=message)
    if gpu(least.gres):
        yield subject.entry(("node", "gpu"), gpu(least.gres), fits=True, better=gpu(least.gres) if alike else None)


def _shaped(subject: Subject, name: str, here: int, *, alike: bool, counted: bool = True) -> Iterator[Entry]:
    said = subject.said("node", name)
    yield subject.entry(
        ("node", name),
        here if alike or not counted else f"{here} or more",
        fits=said is not None and (said <= here or not counted),
        better=here if alike and here else None,
    )


def _shapes(subject: Subject) -> Sequence[Shape]:
    """Those of the partition, else of Slurm's default."""
    names = (subject.said("slurm", "partition") or "").split(",")
    own = [each for each in subject.survey.shapes if each.partition in names]
    return own or [each for each in subject.survey.shapes if each.default]


def _begins(here: str, said: str | None) -> bool:
    wanted = number(said or "")
    return bool(wanted) and number(here)[: len(wanted)] == wanted


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


LOGIN: Sequence[Rule] = (slurm, pyxis, partition, account, mpi, kill_wait, segment, shape)
"""What Slurm's own programs tell."""


def summary(subject: Subject, entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """The findings of the entries, and one for all keys that the file could say."""
    for entry in entries:
        if entry.finding is not None:
            yield entry.finding
    unsaid = [dotted(entry.key) for entry in entries if entry.state == "unsaid"]
    if unsaid:
        yield Diagnostic(
            "cluster-incomplete",
            f"the site tells what the file does not say: {_listed(unsaid)}",
            Place(subject.site.documents[-1]),
            Severity.WARNING,
            help="`--write` adds it",
        )
    if subject.survey.told is None and subject.site.cluster.scheduler == "slurm":
        yield Diagnostic(
            "site-unanswered",
            f"no compute node could be asked: {subject.survey.silence}",
            None,
            Severity.WARNING,
            help="`--timeout 10m` waits longer for a node; inside `salloc` its nodes are asked",
        )
