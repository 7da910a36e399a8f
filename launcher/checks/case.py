"""What checks look at: a job, its adapters, and what follows from both, worked out once."""

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property

from launcher.model.job import Job
from launcher.plan.outline import Outline, outline
from launcher.roles.base import Adapters, Endpoint, nominal
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic
from launcher.text.suggest import Suggestions


@record
class Case:
    """One job under check. `suggestions` is the budget all checks share."""

    job: Job
    adapters: Adapters
    suggestions: Suggestions = field(default_factory=Suggestions)

    @cached_property
    def outline(self) -> Outline:
        """Where everything would run, with what cannot be met as faults."""
        return outline(self.job, self.adapters)

    @cached_property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The workers' addresses, before placement."""
        return nominal(self.job, self.adapters)

    @cached_property
    def placed(self) -> tuple[Endpoint, ...]:
        """The same with the nodes and ports they get."""
        workers = (each for each in self.outline.replicas if each.role.mode is not None)
        return tuple(
            endpoint for each in workers for endpoint in self.adapters[each.role.manifest.adapter].endpoints(each)
        )

    @property
    def containers(self) -> bool:
        """Whether roles run in containers."""
        return self.job.cluster.runtime != "none"


Check = Callable[[Case], Iterator[Diagnostic]]
"""A check is a generator; its docstring is what `launch explain CODE` prints, the first line its summary."""
