"""Whether there is anything at a path, on this machine or on the compute nodes."""

from pathlib import Path

from launcher.execute.images import compute
from launcher.execute.world import Real
from launcher.model.facts import Answer, Present

_LOOK = f'test -e "$0" || exit {compute.ABSENT}'


def answer(question: Present) -> Answer:
    """Not `yes` where there is nothing for sure: nobody could look is no such answer."""
    if question.compute is None:
        return _here(Path(question.path))
    absent = "exists neither here nor on the compute nodes"
    return compute.answer(Real(), question.path, question.compute, _LOOK, absent)


def _here(path: Path) -> Answer:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Answer(yes=False, text="does not exist")
    except OSError:
        return Answer(yes=True)
    return Answer(yes=True)
