"""What lies on a compute node, and an image file as it sees it: there, and whole by its header. Asked by a step of a
second.
"""

from launcher.execute.images.failure import Failure
from launcher.execute.world import Ran, World
from launcher.images import header
from launcher.model.facts import Answer, Image

SECONDS = 10
"""How long a free node is waited for."""

WHERE = "a compute node"

ABSENT = 44
"""What a script that looks for a path ends with where there is none."""

_HEAD = 4096
# POSIX's own programs: nothing is known of the node.
_LOOK = f'test -r "$0" || exit {ABSENT}; wc -c <"$0"; head -c {_HEAD} "$0" | od -An -v -tx1'


def look(world: World, path: str, options: tuple[str, ...]) -> Image:
    """What the file is. Raises Failure, of kind `unreachable` where no node could be asked."""
    ran = there(world, path, options, _LOOK)
    if ran.exit == ABSENT:
        raise Failure("absent", f"`{path}` does not exist on the compute nodes", "or cannot be read there")
    size, _, rest = ran.out.strip().partition("\n")
    if ran.exit != 0 or not size.strip().isdecimal():
        raise _unasked(path, ran.err.strip().splitlines()[-1] if ran.err.strip() else f"`srun` ended with {ran.exit}")
    head = bytes.fromhex("".join(rest.split()))
    try:
        # Of a SIF the descriptors tell where its root is, and they come later than is read here.
        found = None if header.sif(head) else header.read(head, int(size))
    except ValueError as error:
        raise Failure("faulty", f"`{path}` {error}", header.advice(str(error))) from error
    return Image(int(size), arch=found.arch if found else None)


def answer(world: World, path: str, options: tuple[str, ...], script: str, absent: str) -> Answer:
    """What `script` says of the path; not `yes`, but `absent`, where there is none for sure: nobody could look is no
    such answer.
    """
    try:
        ran = there(world, path, options, script)
    except Failure as failure:
        return Answer(yes=True, where=WHERE, fault=failure.kind)
    if ran.exit == ABSENT:
        return Answer(yes=False, text=absent, where=WHERE)
    if ran.exit != 0:
        return Answer(yes=True, where=WHERE, fault="unreachable")
    return Answer(yes=True, text=ran.out, where=WHERE)


def there(world: World, path: str, options: tuple[str, ...], script: str) -> Ran:
    """What a shell of a compute node says, with `path` for its argument. Raises Failure where none could be asked."""
    words = (
        "srun",
        f"--immediate={SECONDS}",
        "--nodes=1",
        "--ntasks=1",
        "--time=1",
        "--quiet",
        "--input=none",
        *options,
    )
    try:
        return world.run((*words, "sh", "-c", script, path), patience=SECONDS + 20.0)
    except OSError as error:
        raise _unasked(path, "`srun` cannot be run" if isinstance(error, FileNotFoundError) else str(error)) from error


def _unasked(path: str, reason: str) -> Failure:
    message = f"no compute node could be asked for `{path}`: {reason}"
    return Failure("unreachable", message, "the job itself looks for it before anything starts")
