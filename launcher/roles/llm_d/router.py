"""llm-d as the recipe names it: a router that starts nothing itself, and brings Envoy, EPP and sidecars along.

Facts: llm-d-router 0.10.0. Its file discovery knows vLLM's metrics unless an endpoint has a label of another engine,
and requests go to workers over HTTP.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.roles.base import Adapter, Endpoint, Handoff, Net, Replica, Task
from launcher.roles.llm_d.protocol import NAMES, protocol
from launcher.roles.router import CODES, Kind, unrouted, worker
from launcher.roles.vllm_kv import TRANSFER
from launcher.text.diagnostic import Diagnostic, Label


class LlmD(Adapter):
    """Judges the workers; what it brings along starts the programs."""

    serves: ClassVar[frozenset[Kind]] = frozenset([("vllm", "http")])
    hands_over: ClassVar[Mapping[Kind, Handoff]] = {("vllm", "http"): "kv_transfer_params"}

    codes: ClassVar[Mapping[str, str]] = {
        "engine-not-routed": CODES["engine-not-routed"],
        "connector-not-handed": """No sidecar knows how the decode workers are handed a KV cache

The sidecar before each decode worker sends the prompt to a prefill worker and passes on what comes back, in the way of
the engine's KV connector (`--kv-connector`, llm-d-router 0.10.0). One that speaks another way gives correct answers,
and decode computes every prompt again. `NixlConnector` and `MooncakeConnector` are known; of a `MultiConnector` the
first connector that is.

    [defaults]
    kv = "nixl"
    # or
    flags = { kv-transfer-config = { kv_connector = "NixlConnector", kv_role = "kv_both" } }""",
    }

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        return ()

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        kinds = {(each.wire, each.scheme): each for each in reversed(endpoints)}
        yield from (unrouted(worker(job, each), role, each) for kind, each in kinds.items() if kind not in self.serves)
        # Both halves speak one way, or another finding says so; the sidecar is before decode.
        halves = [each for mode in ("decode", "prefill") for each in endpoints if each.mode == mode]
        served = (each for each in halves if (each.wire, each.scheme) in self.serves)
        lost = next((each for each in served if protocol(each) is None), None)
        if lost is not None:
            yield _unhanded(worker(job, lost), role, lost)


def _unhanded(role: Role, router: Role, endpoint: Endpoint) -> Diagnostic:
    named = ", ".join(f"`{name}`" for name in endpoint.connectors)
    known = ", ".join(f"`{name}`" for name in NAMES)
    given = Given(role)
    place = role.place("kv") if role.kv else role.place(*given.at(TRANSFER)) if given.table(TRANSFER) else None
    return Diagnostic(
        "connector-not-handed",
        f"no llm-d sidecar can hand over as `{role.name}` does: {named}"
        if endpoint.connectors
        else f"`{role.name}` has no KV connector that an llm-d sidecar could hand over by",
        place or role.place("manifest"),
        labels=(Label(router.place("kind"), "a sidecar stands before each decode worker"),),
        help=f'say `kv = "nixl"` or `kv = "mooncake"`, or give `{TRANSFER}` a connector of these: {known}',
    )


ADAPTER = LlmD()
