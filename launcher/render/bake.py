"""Baking: a role's preamble run once, in words as at the start of a run, and its root kept as an image.

Under pyxis (0.24) the step saves its root by `--container-save`. That happens however the preamble ends, and where it
fails the step still ends well: who starts it looks at what was said and at the file. enroot packs it as
`ENROOT_SQUASH_OPTIONS` says (4.1.2), else with LZO, which starts slowly. Apptainer (1.4.5) has no such
option and saves no overlay: the image is unpacked on the node's own disk, written to as fake root as a run's overlay
would be, and packed again.

What the preamble exported is told by the environment before and after it (`/proc/self/environ`, exact for every byte),
without the variables that come from the submitting shell. The cluster's preamble comes before the first look: it is run
at every start, baked or not.
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace

from launcher.images.importing import SQUASH
from launcher.images.sif import SQUASHING
from launcher.model import sitepath
from launcher.model.cluster import Cluster
from launcher.model.job import Role
from launcher.plan.file import preamble
from launcher.plan.step import Mount, Step
from launcher.render import apptainer, pyxis
from launcher.render.enter import FILES
from launcher.run.record import record
from launcher.run.script import Child, File, bind, ref

BEGUN, BEFORE, AFTER = "begun", "before", "after"
"""Files of the working folder: the environment at first, before the role's own preamble, and after it."""

_TELL = "setup/_tell.sh"
_UNPACKED = "setup/_unpacked.sh"

_FILES = (
    *FILES,
    *pyxis.FILES,
    File(
        _TELL,
        text="""\
# _tell.sh FILE NAMES: writes the environment, less the variables NAMES.
unset LAUNCH__EACH $2
cat /proc/self/environ >"${0%/*}/../$1"
""",
    ),
    File(
        _UNPACKED,
        text="""\
# _unpacked.sh PARENT NAME IMAGE OUT MOUNTS WORDS...: unpacks IMAGE into PARENT/NAME, runs WORDS, which enter
# it, and packs OUT of what they left. MOUNTS are lines, sources and targets by turns. What was written belongs to fake
# users, so a container removes it.
parent=$1 name=$2 image=$3 out=$4 mounts=$5
shift 5
remove() {
    apptainer --quiet exec --no-home --cleanenv --pwd=/ --fakeroot "--bind=$parent:/mnt" "$image" rm -rf "/mnt/$name"
}
trap 'remove; exit 143' TERM INT HUP
[ ! -e "$parent/$name" ] || remove  # of one that was killed
mkdir -p "$parent" && mkdir -m 700 "$parent/$name" || exit
export APPTAINER_TMPDIR="$parent/$name"
status=1
if apptainer --quiet build --sandbox "$parent/$name/root" "$image"; then
    # A root that is written to gets nothing to mount on by itself.
    printf '%s' "$mounts" | while IFS= read -r source && IFS= read -r target; do
        target="$parent/$name/root$target"
        if [ ! -d "$source" ]; then
            mkdir -p "${target%/*}" && [ -e "$target" ] || : >"$target"
        else
            mkdir -p "$target"
        fi
    done
    "$@"
    status=$?
fi
if [ "$status" = 0 ]; then
    apptainer --quiet build --force --fakeroot "$out" "$parent/$name/root"
    status=$?
fi
remove
exit "$status"
""",
    ),
)


@record
class Baking:
    """One baking. `role` has the preamble, `base` is the image file it is run in, `folder` an empty working folder that
    this machine and the nodes see, `out` the file to make in it.
    """

    role: Role
    base: str
    folder: str
    out: str


def files(baking: Baking, cluster: Cluster) -> tuple[File, ...]:
    """What the working folder has to have."""
    site = cluster.setup.inline if cluster.setup else ""
    role = baking.role
    looks = [" ".join(map(shlex.quote, _look(role, f"{pyxis.RUN}/{_TELL}", name))) for name in (BEGUN, BEFORE)]
    text = preamble(f"{looks[0]}\n\n{site}", f"{looks[1]}\n\n{role.preamble or ''}")
    return (*_FILES, File(_preamble(role), text=text))


def child(baking: Baking, cluster: Cluster, known: Mapping[str, str], before: tuple[str, ...] = ()) -> Child:
    """The process that bakes; `before` are the words that start it on a node, `known` is whose (`user`, `home`)."""
    step = _step(baking)
    if cluster.runtime == "apptainer":
        words = (*(("--",) if before else ()), *_apptainer(baking, step, cluster))
        variables = {**apptainer.variables(step, cluster), SQUASHING: _squash(cluster)}
        prefix = apptainer.PREFIX
        step = replace(step, env_from=tuple(dict.fromkeys((*step.env_from, *cluster.inherit))))
    else:
        own = (*pyxis.container(step, cluster), f"--container-save={baking.out}")
        words = (*own, "--", *pyxis.inside(step, cluster))
        variables = {**pyxis.variables(step, cluster), "ENROOT_SQUASH_OPTIONS": _squash(cluster)}
        prefix = pyxis.PREFIX
    slots = {"run": baking.folder, "python": pyxis.PYTHON, **known}
    made = Child(step.name, step.role, (*before, *words), env=variables, env_from=step.env_from, env_prefix=prefix)
    bound: Child = bind(made, slots)
    return bound


def inside(role: Role) -> tuple[str, ...]:
    """The words of a container that has the working folder as `/launch`, and is entered by others' means."""
    return ("sh", f"{pyxis.RUN}/{_preamble(role)}", *_look(role, f"{pyxis.RUN}/{_TELL}", AFTER))


def exported(before: bytes, after: bytes) -> Mapping[str, str]:
    """What changed between two environments, but for what a shell itself keeps there."""
    was, now = _variables(before), _variables(after)
    return {name: value for name, value in sorted(now.items()) if was.get(name) != value and name not in _SHELLS}


def taken(before: bytes, after: bytes) -> list[str]:
    """Variables that the preamble took away, which no image can."""
    return sorted(_variables(before).keys() - _variables(after).keys() - set(_SHELLS))


# bash takes PS1, which Apptainer sets, away unless somebody types.
_SHELLS = ("_", "SHLVL", "PWD", "OLDPWD", "PS1")


def _variables(environ: bytes) -> dict[str, str]:
    found = (each.decode("utf-8", "surrogateescape").partition("=") for each in environ.split(b"\0") if each)
    return {name: value for name, found_, value in found if found_ and not name.startswith("LAUNCH__")}


def _preamble(role: Role) -> str:
    return f"setup/{role.name}.sh"


def _look(role: Role, script: str, name: str) -> tuple[str, ...]:
    """The words that write the environment, less what comes from the submitting shell."""
    return ("sh", script, name, " ".join(role.env_from))


def _step(baking: Baking) -> Step:
    role = baking.role
    return Step(
        name=role.name,
        role=role.name,
        nodes=(0,),
        words=_look(role, f"{ref('run')}/{_TELL}", AFTER),
        image=role.image,
        reference=baking.base,
        setup=_preamble(role),
        writable=True,
        mounts=tuple(Mount(each.source, each.target, each.read_only) for each in role.mounts),
        env=role.env,
        env_from=role.env_from,
    )


def _squash(cluster: Cluster) -> str:
    """Options of `mksquashfs`, which enroot and Apptainer pack images with."""
    return SQUASH[cluster.store.compressor if cluster.store else "zstd"]


def _apptainer(baking: Baking, step: Step, cluster: Cluster) -> tuple[str, ...]:
    """The words behind `srun`'s `--`, or of this machine."""
    known = {"USER": ref("user"), "HOME": ref("home")}
    parent = sitepath.expand(cluster.node.local, known).rstrip("/") or "/"
    name = f"launch-bake-{baking.folder.rpartition('/')[2].strip('.')}"
    pairs = ((baking.folder, pyxis.RUN), *((mount.source, mount.target) for mount in step.mounts))
    mounts = "".join(f"{path}\n" for pair in pairs for path in pair)
    own = apptainer.apptainer(replace(step, writable=False), cluster)
    root = (*own[:-1], "--fakeroot", "--writable", f"{parent}/{name}/root")
    script = ("sh", f"{baking.folder}/{_UNPACKED}", parent, name, baking.base, baking.out, mounts)
    return (*script, *root, *apptainer.inside(step))
