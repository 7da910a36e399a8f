"""An image file as a compute node sees it: there, and whole by its header. Asked by a step of a second."""

from launcher.execute.images.failure import Failure
from launcher.execute.world import Ran, World
from launcher.images import header
from launcher.model.facts import Image

SECONDS = 10
"""How long a free node is waited for."""

_HEAD = 4096
# POSIX's own programs: nothing is known of the node.
_LOOK = f'test -r "$0" || exit 44; wc -c <"$0"; head -c {_HEAD} "$0" | od -An -v -tx1'
_ABSENT = 44


def look(world: World, path: str, options: tuple[str, ...]) -> Image:
    """What the file is. Raises Failure, of kind `unreachable` where no node could be asked."""
    ran = there(world, path, options, _LOOK)
    if ran.exit == _ABSENT:
        raise Failure("absent", f"`{path}` does not exist on the compute nodes", "or cannot be read there")
    size, _, rest = ran.out.strip().partition("\n")
    if ran.exit != 0 or not size.strip().isdecimal():
        raise _unasked(path, ran.err.strip().splitlines()[-1] if ran.err.strip() else f"`srun` ended with {ran.exit}")
    head = bytes.fromhex("".join(rest.split()))
    try:
        # Of a SIF the descriptors tell where its root is, and they come later than is read here.
        found = None if header.sif(head) else header.read(head, int(size))
    except ValueError as error:
        raise Failure("faulty", f"`{path}` {error}", "import it again") from error
    return Image(int(size), arch=found.arch if found else None)


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
