"""Shepherd Model Gateway in front of vLLM, SGLang or TensorRT-LLM.

Facts: smg 1.11 and 1.13. All URLs go into one `--worker-urls`; one with a slash at its end is registered and
then stays unhealthy. The Prometheus port (29000) ends the router when it is busy, so it is allocated. It must
listen on every address, since other nodes call it. In prefill/decode smg hands the KV cache over by SGLang's
bootstrap, and for vLLM over gRPC alone: vLLM over HTTP answers 200 while decode recomputes every prompt.
"""

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.model.manifest import Port
from launcher.roles.base import Adapter, Endpoint, Net, Replica, Task
from launcher.roles.command import flags, gates, given, program
from launcher.text.diagnostic import Diagnostic

_EVERYWHERE = "0.0.0.0"  # noqa: S104


class Smg(Adapter):
    """One router; its workers are all endpoints of the plan."""

    codes: ClassVar[Mapping[str, str]] = {
        "handoff-lost": """The router would not tell decode where prefill left the KV cache

smg does so for SGLang over HTTP (bootstrap) and for vLLM over gRPC. For vLLM over HTTP it sends no
`kv_transfer_params`: it reports ready and answers 200, and decode computes every prompt again (smg 1.11 and
1.13). TensorRT-LLM has no hand-off behind smg at all.""",
        "engines-mixed": """Prefill and decode are different engines

The KV cache of one engine means nothing to another: both roles need the same role manifest.""",
    }

    def ports(self, role: Role) -> Mapping[str, Port]:
        return {"http": Port(base=8000), "prometheus": Port(base=29000), **role.manifest.ports}

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        role = replica.role
        timeout = (
            ()
            if given(role, "worker-startup-timeout-secs")
            else (f"--worker-startup-timeout-secs={math.ceil(net.timeout)}",)
        )
        words = (
            *program(replica, net),
            f"--host={_EVERYWHERE}",
            f"--port={replica.ports['http']}",
            f"--prometheus-host={_EVERYWHERE}",
            f"--prometheus-port={replica.ports['prometheus']}",
            *_workers(net.endpoints),
            *timeout,
            *flags(role),
        )
        return (Task(words, gates=gates(replica, net)),)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        halves = [endpoint for endpoint in endpoints if endpoint.mode != "aggregate"]
        wires = sorted({endpoint.wire for endpoint in halves})
        if len(wires) > 1:
            yield Diagnostic(
                code="engines-mixed",
                message=f"prefill and decode are different engines: {' and '.join(wires)}",
                place=_role(job, halves[-1]).place("manifest"),
                help="give `prefill` and `decode` the same role manifest",
            )
        lost = next((endpoint for endpoint in halves if not _hands_over(endpoint)), None)
        if lost is not None:
            yield _lost(_role(job, lost), role, lost)


def _role(job: Job, endpoint: Endpoint) -> Role:
    return next(role for role in job.roles if role.name == endpoint.role)


def _hands_over(endpoint: Endpoint) -> bool:
    if endpoint.handoff == "bootstrap":
        return endpoint.mode != "prefill" or endpoint.bootstrap is not None
    return endpoint.handoff == "kv_transfer_params" and endpoint.scheme == "grpc"


def _lost(worker: Role, role: Role, endpoint: Endpoint) -> Diagnostic:
    return Diagnostic(
        code="handoff-lost",
        message=f"{role.manifest.name} passes no KV hand-off to {endpoint.wire} workers over {endpoint.scheme}: "
        "decode would recompute every prompt",
        place=role.place("kind"),
        help="use SGLang workers, or serve aggregate with `[roles.worker]`",
    )


def _workers(endpoints: tuple[Endpoint, ...]) -> tuple[str, ...]:
    if all(endpoint.mode == "aggregate" for endpoint in endpoints):
        return ("--worker-urls", *(endpoint.url for endpoint in endpoints))
    words = ["--pd-disaggregation"]
    for endpoint in endpoints:
        port = (str(endpoint.bootstrap),) if endpoint.bootstrap is not None else ()
        words += [f"--{endpoint.mode}", endpoint.url, *port]
    return tuple(words)


ADAPTER = Smg()
