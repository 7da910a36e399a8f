"""The steps that a run inside a Slurm job leaves when its supervisor is gone: found by name and ended."""

import time
from typing import Callable, Dict, List, Mapping, Sequence

from launcher.run import job, prepare, steps
from launcher.run.child import inherited, shell
from launcher.run.errand import fetch
from launcher.run.script import Allocation, Script

_GENTLE = 5.0
_AFTER_KILL = 6.0
_PAUSE = 0.1


def clear(run: str) -> List[str]:
    """Ends all steps of the run, those that are `last` after the others; returns ids of what would not end.

    Only for a process that collects its children nowhere else. Raises OSError, ValueError.
    """
    script = prepare.script(run)
    if script.allocation is None:
        return []
    environ = shell()
    known = {**prepare.slots(run), **job.slots(environ)}
    allocation: Allocation = job.bind_known(script.allocation, known)
    return _Remains(allocation, known["id"], inherited(script.inherit, environ), run).clear(script)


class _Remains:
    def __init__(self, allocation: Allocation, name: str, env: Mapping[bytes, bytes], run: str) -> None:
        self._allocation = allocation
        self._name = name
        self._env = env
        self._run = run

    def clear(self, script: Script) -> List[str]:
        last = {child.name: child.stop.seconds for child in script.children if child.last}
        left = self._end(lambda name: name not in last, _GENTLE)
        return left + self._end(lambda name: name in last, max(last.values(), default=0.0))

    def _end(self, chosen: Callable[[str], bool], seconds: float) -> List[str]:
        left = self._left(chosen)
        for words, patience in ((self._allocation.signal, seconds), (self._allocation.kill, _AFTER_KILL)):
            if not left:
                return []
            self._do((*words, *left))
            limit = time.monotonic() + patience
            while left and time.monotonic() < limit:
                time.sleep(_PAUSE)
                left = self._left(chosen)
        return left

    def _left(self, chosen: Callable[[str], bool]) -> List[str]:
        found = steps.of(self._name, self._do(self._allocation.steps)["out"])
        return steps.ids(found, [name for name in found if chosen(name)])

    def _do(self, words: Sequence[str]) -> Dict[str, str]:
        return fetch(words, self._env, self._run)
