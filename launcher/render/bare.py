"""Steps as plain processes: of this machine, or of a compute node without containers.

An image that is a directory is an environment: its programs come first on PATH and its Python is `{python}`; any
other image means nothing here.
"""

from collections.abc import Mapping

from launcher.plan.starter import early
from launcher.plan.step import Step
from launcher.render.enter import enter
from launcher.run.script import ref


def environment(step: Step) -> dict[str, str]:
    """The variables of a step on this machine: its GPUs masked, its environment directory first on PATH."""
    found = {**step.env, **_path(step)}
    if step.gpus:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, step.gpus))
    return found


def bare(step: Step) -> tuple[str, ...]:
    """The words that start the step on this machine: its command, behind its preamble run by bash."""
    words = _words(step)
    return words if step.setup is None else ("bash", f"{ref('run')}/{step.setup}", *words)


def inside(step: Step, python: str) -> tuple[str, ...]:
    """What `srun` runs on a compute node, where `python` is an interpreter that roles may use."""
    inner: Mapping[str, str] = {name: value for name, value in step.env.items() if early(name)} | _path(step)
    words = tuple(word.replace(ref("python"), python) for word in _words(step))
    return enter(step, ref("run"), inner, words)


def variables(step: Step) -> dict[str, str]:
    """The step's variables in the environment of `srun`."""
    return {name: value for name, value in step.env.items() if not early(name)}


def _words(step: Step) -> tuple[str, ...]:
    directory = _directory(step)
    if directory is None:
        return step.words
    return tuple(word.replace(ref("python"), f"{directory}/bin/python") for word in step.words)


def _path(step: Step) -> dict[str, str]:
    directory = _directory(step)
    return {} if directory is None else {"PATH": f"{directory}/bin:{step.env.get('PATH', ref('path'))}"}


def _directory(step: Step) -> str | None:
    found = step.reference
    return found.rstrip("/") if found is not None and found.startswith("/") else None
