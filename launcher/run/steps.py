"""Steps of a job by the names of a run's children: Slurm's ids, and the words that end them."""

from typing import Dict, Iterable, List

from launcher.run.script import step_name


def parse(text: str) -> Dict[str, List[str]]:
    """What `Allocation.steps` printed: name → ids, oldest first. Lines that are no steps are passed over."""
    found: Dict[str, List[str]] = {}
    for line in text.splitlines():
        step, _, name = line.strip().partition(" ")
        if name:
            found.setdefault(name.strip(), []).append(step)
    return found


def of(run: str, text: str) -> Dict[str, List[str]]:
    """Child → ids of its steps, of the run of that name alone."""
    tail = step_name("", run)
    return {name[: -len(tail)]: ids for name, ids in parse(text).items() if name.endswith(tail)}


def ids(found: Dict[str, List[str]], children: Iterable[str]) -> List[str]:
    """The ids of these children's steps."""
    return [step for child in children for step in found.get(child, ())]
