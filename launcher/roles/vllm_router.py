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
from launcher.roles.command import given
from launcher.roles.router import CODES, RANKS, Kind, Router, worker
from launcher.text.diagnostic import Diagnostic, Severity


class VllmRouter(Router):
    """Workers over HTTP."""

    serves: ClassVar[frozenset[Kind]] = frozenset([("vllm", "http")])
    hands_over: ClassVar[Mapping[Kind, Handoff]] = {("vllm", "http"): "kv_transfer_params"}
    switch: ClassVar[str] = "--vllm-pd-disaggregation"

    codes: ClassVar[Mapping[str, str]] = {
        **CODES,
        **RANKS,
        "ranks-by-node": """The router counts the data-parallel ranks of each node from 0

vllm-router 0.1.17 sends the number of a rank on its node in `x-data-parallel-rank`. vLLM 0.32 counts the ranks of a
server so too; before servers which count them through all nodes such requests are answered 400 on every node but the
first (vllm-project/router#210). In aggregate the router is not told of ranks here, and each node's server chooses among
its own; in prefill and decode it reads them off the workers' metrics. This is a warning.

    flags = { data-parallel-size = 8, data-parallel-external-lb = true }    # a server, and a URL, for each rank""",
    }

    def entries(self, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Endpoint]:
        told = _told(endpoints)
        for each in endpoints:
            yield from [each] * (told if each.mode == "aggregate" else each.ranks)

    def own(self, role: Role, endpoints: tuple[Endpoint, ...]) -> tuple[str, ...]:
        told = _told(endpoints)
        # It knows where a prefill worker's bootstrap server is, and asks it, for Mooncake alone.
        mooncake = any(each.bootstrap is not None for each in endpoints) and given(role, "kv-connector") is None
        return (
            *((f"--intra-node-data-parallel-size={told}",) if told > 1 else ()),
            *(("--kv-connector=mooncake",) if mooncake else ()),
        )

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from super().check(job, role, endpoints)
        sizes = sorted({each.ranks for each in endpoints})
        if len(sizes) > 1:
            odd = next(each for each in endpoints if each.ranks != endpoints[0].ranks)
            yield Diagnostic(
                code="ranks-not-routed",
                message=f"workers have different numbers of data-parallel ranks: {' and '.join(map(str, sizes))}",
                place=worker(job, odd).place("manifest"),
                help=f"{role.manifest.name} takes one number for all: make them equal",
            )
        split = next((each for each in endpoints if each.first and each.ranks > 1), None)
        if split is not None:
            yield Diagnostic(
                "ranks-by-node",
                f"{role.manifest.name} counts the ranks of `{split.role}` from 0 on each node",
                worker(job, split).place("gpus"),
                Severity.WARNING,
                help="`data-parallel-external-lb = true` in its flags gives each rank a server of its own",
            )


def _told(endpoints: tuple[Endpoint, ...]) -> int:
    """How many ranks the router is told that each worker has: as many as all have, 1 where some are numbered on."""
    sizes = {each.ranks for each in endpoints if each.mode == "aggregate"}
    return sizes.pop() if len(sizes) == 1 and not any(each.first for each in endpoints) else 1


ADAPTER = VllmRouter()
