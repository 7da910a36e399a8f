"""Mounts: what the container runtime can be told, and targets that would hide something."""

from collections.abc import Iterator
from posixpath import normpath

from launcher.checks.case import Case
from launcher.images.reference import number
from launcher.model.sitepath import expand
from launcher.text.diagnostic import Diagnostic, Label, Place, Severity

RUN = "/launch"
"""The run directory in every container."""

_SPECIAL = ("tmpfs", "umount")
"""Sources that are words of pyxis (args.c of 0.24)."""

_PYXIS = {
    ",": "separates mounts, and pyxis knows no escape",
    ":": "separates source and target, and pyxis knows no escape",
    '"': "ends a text in the script pyxis writes on the node",
    "$": "is expanded by a shell on the node",
    "`": "is run by a shell on the node",
    "\\": "is read by a shell on the node",
    "\n": "ends a line in the script pyxis writes on the node",
}
_APPTAINER = {"\\": "is how `,` and `:` are written", "\n": "ends what Apptainer is told"}
_SPACES_SINCE = (0, 24)


def mount_path(case: Case) -> Iterator[Diagnostic]:
    """A path that cannot be mounted

    Source and target of a mount are absolute paths: `~` and `$HOME` are not expanded, and what a relative
    path starts from would depend on where the job was submitted. pyxis has no escape for `,` and `:`, and
    hands the rest to a shell on the node, so that `"`, `$`, a back-tick, a backslash or a line end break the
    step after the nodes were given; before pyxis 0.24 a space does too. Apptainer takes all but a backslash
    and a line end.

        [[roles.worker.mounts]]
        source = "~/data"           # write it out: /home/you/data
        target = "data"             # /data

    The paths of models are mounted as well, and so is the folder of run directories (`runs`). A link without
    such characters beside the directory helps. `tmpfs` and `umount` for a source are pyxis's own words.
    """
    if not case.containers:
        return
    for role in case.job.roles:
        for index, mount in enumerate(role.mounts):
            if mount.source not in _SPECIAL or case.job.cluster.runtime != "pyxis":
                yield from _path(case, "source", mount.source, role.place("mounts", index, "source"))
            yield from _path(case, "target", mount.target, role.place("mounts", index, "target"))
    for path, place in _model(case):
        yield from _path(case, "path of the model", path, place)
    if case.job.cluster.runs is not None:
        place = case.job.cluster_origins.place(("runs",))
        yield from _path(case, "folder of run directories", expand(case.job.cluster.runs, _SOMEBODY), place)


_SOMEBODY = {"USER": "user", "HOME": "/home/user"}


def _model(case: Case) -> Iterator[tuple[str, Place]]:
    """The model's directory, mounted at its own path for workers that have no mount with it, and where that is said."""
    said, models = case.job.recipe.model.path, case.job.cluster.models
    path = case.job.cluster.model(said) if said is not None else None
    if said is None or path is None:
        return
    targets = [[f"{_plain(mount.target)}/".replace("//", "/") for mount in role.mounts] for role in case.job.workers]
    if any(not any(path.startswith(target) for target in mounted) for mounted in targets):
        alias = said in models
        place = case.job.cluster_origins.place(("models", said)) if alias else case.job.origins.place(("model", "path"))
        yield path, place


def _plain(path: str) -> str:
    """A path without doubled slashes, `.` and `..`."""
    return normpath("/" + path.lstrip("/"))


def _path(case: Case, what: str, path: str, place: Place) -> Iterator[Diagnostic]:
    named = f"the {what} `{path}`".replace("\n", "\\n")
    if not path.startswith("/"):
        advice = "write it out: neither `~` nor `$` is expanded" if path[:1] in ("~", "$") else "start it with `/`"
        yield Diagnostic("mount-path", f"{named} is not an absolute path", place, help=advice)
        return
    pyxis = case.job.cluster.runtime == "pyxis"
    breaking = _PYXIS if pyxis else _APPTAINER
    broken = next((letter for letter in path if letter in breaking), None)
    if broken is not None:
        shown = "a line end" if broken == "\n" else f"`{broken}`" if broken != "`" else "a back-tick"
        yield Diagnostic(
            "mount-path",
            f"{named} has {shown}, which {'pyxis' if pyxis else 'Apptainer'} cannot mount",
            place,
            notes=(f"it {breaking[broken]}",),
            help="mount a directory above it, or a link without it",
        )
    elif pyxis and " " in path and number(case.job.cluster.versions.pyxis or "") < _SPACES_SINCE:
        said = case.job.cluster.versions.pyxis
        yield Diagnostic(
            "mount-path",
            f"{named} has a space, which pyxis cannot mount before 0.24",
            place,
            notes=(f"the cluster has pyxis {said}" if said else "the cluster file does not say which pyxis it has",),
            help="mount a directory above it" + ("" if said else ", or say `versions.pyxis` in the cluster file"),
        )


def mount_target_twice(case: Case) -> Iterator[Diagnostic]:
    """Two mounts have one target

    The second would lie over the first, which then cannot be seen. One directory at two targets is fine, and
    a role's mount takes the place of the cluster's with the same target.
    """
    if not case.containers:
        return
    for role in case.job.roles:
        first: dict[str, int] = {}
        for index, mount in enumerate(role.mounts):
            before = first.setdefault(_plain(mount.target), index)
            # What pyxis takes away (`umount`) may be filled again.
            if before != index and role.mounts[before].source != "umount":
                yield Diagnostic(
                    "mount-target-twice",
                    f"`{mount.target}` is the target of two mounts",
                    role.place("mounts", index, "target"),
                    labels=(Label(role.place("mounts", before, "target"), "the other one"),),
                    help="give one of them another target",
                )


def mount_target_hides(case: Case) -> Iterator[Diagnostic]:
    """A mount would hide what every container needs

    A mount over `/` replaces the image, one over `/proc`, `/sys` or `/dev` the kernel's own files (GPUs are
    found there), and `/launch` is the run directory: preambles, generated files and the list of workers. Models are
    mounted at their own path.
    """
    if not case.containers:
        return
    targets = [
        (mount.target, role.place("mounts", index, "target"))
        for role in case.job.roles
        for index, mount in enumerate(role.mounts)
    ]
    for written, place in (*targets, *_model(case)):
        target = _plain(written)
        hidden = _NEEDED[RUN] if target.startswith(f"{RUN}/") else _NEEDED.get(target)
        if hidden is not None:
            yield Diagnostic(
                "mount-target-hides",
                f"a mount at `{written}` would hide {hidden}",
                place,
                help="choose another target",
            )


_NEEDED = {
    "/": "the image itself",
    "/proc": "the kernel's processes",
    "/sys": "the kernel's devices",
    "/dev": "the devices",
    RUN: "the run directory",
}


def mounts_ignored(case: Case) -> Iterator[Diagnostic]:
    """Mounts do nothing without containers

    The cluster starts plain processes, which see the host's own files: a mount changes nothing, and what
    is expected at its target is not there. This is a warning.
    """
    for role in case.job.roles:
        if role.mounts and not case.containers:
            yield Diagnostic(
                "mounts-ignored",
                f"mounts do nothing on `{case.job.cluster.name}`: it starts plain processes",
                role.place("mounts", 0),
                Severity.WARNING,
                help="name paths of the host instead, or choose a cluster with containers",
            )
