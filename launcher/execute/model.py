"""What a model says of itself, where it lies: on this machine or on the compute nodes."""

from pathlib import Path

from launcher.execute import reading
from launcher.execute.images.compute import there
from launcher.execute.images.failure import Failure
from launcher.execute.world import Real, World
from launcher.model.facts import Answer, Model
from launcher.text.limits import BYTES

FILE = "config.json"
_LOOK = f'test -d "$0" || exit 44; test -r "$0/{FILE}" || exit 0; head -c {BYTES} "$0/{FILE}"'
_ABSENT = 44


def answer(question: Model, world: World | None = None) -> Answer:
    """The text of the model's `config.json`; empty where there is none, or nobody could look."""
    if question.compute is None:
        return _here(Path(question.path))
    where = "a compute node"
    try:
        ran = there(world or Real(), question.path, question.compute, _LOOK)
    except Failure as failure:
        return Answer(yes=True, where=where, fault=failure.kind)
    if ran.exit == _ABSENT:
        return Answer(yes=False, text="does not exist on the compute nodes", where=where)
    if ran.exit != 0:
        return Answer(yes=True, where=where, fault="unreachable")
    return Answer(yes=True, text=ran.out, where=where)


def _here(folder: Path) -> Answer:
    try:
        if not folder.is_dir():
            return Answer(yes=False, text="is no folder" if folder.exists() else "does not exist")
        return Answer(yes=True, text=reading.text(folder / FILE))
    except (OSError, UnicodeDecodeError):
        return Answer(yes=True)
