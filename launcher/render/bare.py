"""Steps as plain processes of this machine: no scheduler, no container."""

from launcher.plan.step import Step
from launcher.run.script import ref

_PREPEND = 'PATH="$0:$PATH"; export PATH; exec "$@"'


def environment(step: Step) -> dict[str, str]:
    """The step's variables, its GPUs masked."""
    mask = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, step.gpus))} if step.gpus else {}
    return {**step.env, **mask}


def bare(step: Step) -> tuple[str, ...]:
    """The words that start the step: its command behind its preamble, in its environment directory if it has one.

    An image that is a directory stands first on PATH and gives the step its `{python}`; any other image means nothing
    here. The preamble is run by bash.
    """
    directory = _directory(step)
    words = step.words
    if directory is not None:
        words = tuple(word.replace(ref("python"), f"{directory}/bin/python") for word in words)
    if step.setup is not None:
        words = ("bash", f"{ref('run')}/{step.setup}", *words)
    if directory is not None:
        words = ("sh", "-c", _PREPEND, f"{directory}/bin", *words)
    return words


def _directory(step: Step) -> str | None:
    found = step.reference
    return found.rstrip("/") if found is not None and found.startswith("/") else None
