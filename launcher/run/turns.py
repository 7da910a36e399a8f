"""Whose turn it is: children start once those they come after are open, benchmarks once the run is ready."""

from typing import Dict, List, Sequence, Set

from launcher.run.script import Child

STARTING = "starting"
GATED = "gated"
READY = "ready"
BENCHMARK = "benchmark"
STOPPING = "stopping"


class Turns:
    """`waiting` has the children that were not started and may be, `open` those that nobody has to wait for."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.waiting: Dict[str, Child] = {child.name: child for child in children if not child.benchmark}
        self.open: Set[str] = set()
        self._deployment = set(self.waiting)
        self._benchmarks = {child.name: child for child in children if child.benchmark}

    def free(self) -> List[Child]:
        """Children whose turn it is."""
        return [child for child in self.waiting.values() if self.open.issuperset(child.after)]

    @property
    def all_open(self) -> bool:
        """Whether everything is open that must be before the run is ready."""
        return self.open >= self._deployment

    def ready(self) -> bool:
        """Lets the benchmarks wait for their turn; whether there are any."""
        self.waiting.update(self._benchmarks)
        return bool(self._benchmarks)

    @property
    def finished(self) -> bool:
        """Whether there were benchmarks and all of them have ended well."""
        return bool(self._benchmarks) and self.open.issuperset(self._benchmarks)
