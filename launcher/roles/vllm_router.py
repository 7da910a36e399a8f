"""vLLM's own router in front of vLLM workers over HTTP.

Facts: vllm-router 0.1.17. It listens on loopback unless told otherwise. It lists every worker it was told as healthy
at once, those too that never answered, so each worker's own `/health` is asked again once it is ready. In aggregate
it addresses data-parallel ranks when told how many each worker has; it counts them as workers, and sends the rank's
number on that worker in `x-data-parallel-rank`. In prefill/decode it reads them off each worker's `/metrics`. The
prompt's place comes back from the prefill worker and is sent on in `kv_transfer_params`; a port behind a prefill URL
is of no use to NIXL, which listens on none that a router could ask.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.roles.base import Endpoint, Handoff
from launcher.roles.router import CODES, RANKS, Kind, Router, worker
from launcher.text.diagnostic import Diagnostic


class VllmRouter(Router):
    """Workers over HTTP."""

    serves: ClassVar[frozenset[Kind]] = frozenset([("vllm", "http")])
    hands_over: ClassVar[Mapping[Kind, Handoff]] = {("vllm", "http"): "kv_transfer_params"}
    switch: ClassVar[str] = "--vllm-pd-disaggregation"

    codes: ClassVar[Mapping[str, str]] = {**CODES, **RANKS}

    def listed(self, endpoint: Endpoint, role: Role) -> int:
        return endpoint.ranks

    def own(self, role: Role, endpoints: tuple[Endpoint, ...]) -> tuple[str, ...]:
        return tuple(f"--intra-node-data-parallel-size={size}" for size in _sizes(endpoints) if size > 1)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from super().check(job, role, endpoints)
        sizes = _sizes(endpoints)
        if len(sizes) > 1:
            yield Diagnostic(
                code="ranks-not-routed",
                message=f"workers have different numbers of data-parallel ranks: {' and '.join(map(str, sizes))}",
                place=worker(job, endpoints[0]).place("manifest"),
                help=f"{role.manifest.name} takes one number for all: make them equal",
            )


def _sizes(endpoints: tuple[Endpoint, ...]) -> list[int]:
    """How many ranks an aggregate worker has: every number there is."""
    return sorted({endpoint.ranks for endpoint in endpoints if endpoint.mode == "aggregate"})


ADAPTER = VllmRouter()
