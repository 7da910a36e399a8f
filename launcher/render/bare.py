"""Steps as plain processes of this machine: no scheduler, no container."""

from launcher.plan.step import Step
from launcher.run.script import ref


def environment(step: Step) -> dict[str, str]:
    """The step's variables: its GPUs masked, its environment directory first on PATH."""
    found = dict(step.env)
    if step.gpus:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, step.gpus))
    directory = _directory(step)
    if directory is not None:
        found["PATH"] = f"{directory}/bin:{found.get('PATH', ref('path'))}"
    return found


def bare(step: Step) -> tuple[str, ...]:
    """The words that start the step: its command, behind its preamble run by bash.

    An image that is a directory gives the step its `{python}`; any other image means nothing here.
    """
    words = step.words
    directory = _directory(step)
    if directory is not None:
        words = tuple(word.replace(ref("python"), f"{directory}/bin/python") for word in words)
    return words if step.setup is None else ("bash", f"{ref('run')}/{step.setup}", *words)


def _directory(step: Step) -> str | None:
    found = step.reference
    return found.rstrip("/") if found is not None and found.startswith("/") else None
