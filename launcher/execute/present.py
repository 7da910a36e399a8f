"""Whether there is anything at a path, on this machine or on the compute nodes."""

from pathlib import Path

from launcher.execute.images.compute import there
from launcher.execute.images.failure import Failure
from launcher.execute.world import Real, World
from launcher.model.facts import Answer, Present

_LOOK = 'test -e "$0" || exit 44'
_ABSENT = 44


def answer(question: Present, world: World | None = None) -> Answer:
    """Not `yes` where there is nothing for sure: nobody could look is no such answer."""
    if question.compute is None:
        try:
            Path(question.path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return Answer(yes=False, text="does not exist")
        except OSError:
            return Answer(yes=True)
        return Answer(yes=True)
    where = "a compute node"
    try:
        ran = there(world or Real(), question.path, question.compute, _LOOK)
    except Failure as failure:
        return Answer(yes=True, where=where, fault=failure.kind)
    if ran.exit == _ABSENT:
        return Answer(yes=False, text="exists neither here nor on the compute nodes", where=where)
    return Answer(yes=True, where=where)
