"""What a model says of itself, where it lies: on this machine or on the compute nodes."""

from pathlib import Path

from launcher.execute import reading
from launcher.execute.images import compute
from launcher.execute.world import Real
from launcher.model.facts import Answer, Model
from launcher.text.limits import BYTES

FILE = "config.json"
_LOOK = f'test -d "$0" || exit {compute.ABSENT}; test -r "$0/{FILE}" || exit 0; head -c {BYTES} "$0/{FILE}"'


def answer(question: Model) -> Answer:
    """The text of the model's `config.json`; empty where there is none, or nobody could look."""
    if question.compute is None:
        return _here(Path(question.path))
    return compute.answer(Real(), question.path, question.compute, _LOOK, "does not exist on the compute nodes")


def _here(folder: Path) -> Answer:
    try:
        if not folder.is_dir():
            return Answer(yes=False, text="is no folder" if folder.exists() else "does not exist")
        return Answer(yes=True, text=reading.text(folder / FILE))
    except (OSError, UnicodeDecodeError):
        return Answer(yes=True)
