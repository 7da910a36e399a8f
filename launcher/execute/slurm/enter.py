"""Entering a step of a job: a step of its own beside it, on its first node, in its container."""

import os
import sys
from collections.abc import Iterator, Sequence

from launcher.execute.enter import find
from launcher.execute.journal import Run, refusal
from launcher.execute.world import World
from launcher.render.enter import ENTER, HOME
from launcher.render.pyxis import GIVEN
from launcher.run import prepare
from launcher.run.child import environment
from launcher.run.script import Child

_REPLACED = (
    *("--output=", "--error=", "--open-mode=", "--input=", "--job-name=", "--kill-on-bad-exit=", "--nodelist="),
    *("--nodes=", "--ntasks=", "--ntasks-per-node=", "--unbuffered", "--mpi="),
)
_INNER = ("env",)


def enter(world: World, run: Run, name: str, words: Sequence[str]) -> None:
    """Becomes `srun` of `words` beside the step `name`. Returns never; raises Refused, OSError."""
    path = str(run.path)
    try:
        script = prepare.bound(path)
        hosts = prepare.hosts(path)
    except (OSError, ValueError) as error:
        raise refusal("run-ended", f"`{run.name}` has no steps yet", "`launch ps` shows how it is") from error
    child = find(script, name)
    # Earlier releases gave a step its home while they noted its pid.
    homed = (run.path / HOME).exists()
    argv = inside(child, hosts[child.nodes[0]], words, terminal=sys.stdin.isatty(), homed=homed)
    env = {os.fsencode(key): os.fsencode(value) for key, value in world.environ.items()}
    own = environment(child, script.inherit, path, env)
    os.execvpe(argv[0], argv, {**own, b"PATH": env.get(b"PATH", os.fsencode(os.defpath))})  # noqa: S606


def inside(child: Child, host: str, words: Sequence[str], *, terminal: bool, homed: bool) -> list[str]:
    """The words of `srun` for `words` where the child is: its options of containers and its variables stay, with
    `homed` its home too.
    """
    cut = child.argv.index("--")
    options = [word for word in child.argv[1:cut] if word != ":" and not word.startswith(_REPLACED)]
    mine = ["--nodes=1", "--ntasks=1", f"--nodelist={host}", "--mpi=none", "--job-name=launch.exec"]
    mine += ["--pty"] if terminal else []
    return ["srun", *dict.fromkeys(options), *mine, "--", *_before(child.argv[cut + 1 :], homed), *words]


def _before(words: Sequence[str], homed: bool) -> Iterator[str]:
    """What comes before the role's own command: the container's start, the home and the variables set inside it."""
    at = next(number for number, word in enumerate(words) if word.endswith(f"/{ENTER}"))
    yield from words[: at - 1]
    if homed:
        yield from ("sh", f"{words[at].removesuffix(ENTER)}{HOME}", words[at + 1])
    rest = words[at + 2 :]
    if rest[1:2] and rest[1].endswith(f"/{GIVEN}"):
        yield from rest[:3]
        rest = rest[3:]
    if rest[:1] == _INNER:
        yield "env"
        for word in rest[1:]:
            if "=" not in word:
                return
            yield word
