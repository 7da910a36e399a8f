"""SGLang's own router in front of SGLang workers over HTTP.

Facts: sglang-router 0.3.2, launched as a module: it installs scripts `sglang-router`, `amg` and, over that of the real
smg, `smg`, so it has an environment of its own. Behind a node without network a gRPC worker ends it with a panic. With
`--dp-aware` it lists every data-parallel rank as `URL@RANK`; in prefill/decode it then sends requests to the host
`RANK`.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from launcher.model.job import Job, Role
from launcher.roles.base import Endpoint, Handoff
from launcher.roles.command import given
from launcher.roles.router import CODES, RANKS, Kind, Router
from launcher.text.diagnostic import Diagnostic

_BY_RANK = "dp-aware"


class SglangRouter(Router):
    """Workers over HTTP."""

    serves: ClassVar[frozenset[Kind]] = frozenset([("sglang", "http")])
    hands_over: ClassVar[Mapping[Kind, Handoff]] = {("sglang", "http"): "bootstrap"}
    codes: ClassVar[Mapping[str, str]] = {**CODES, **RANKS}

    def entries(self, role: Role, endpoints: tuple[Endpoint, ...]) -> Iterator[Endpoint]:
        aware = given(role, _BY_RANK) is not None
        for each in endpoints:
            yield from [each] * (each.ranks if aware else 1)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from super().check(job, role, endpoints)
        key = given(role, _BY_RANK)
        if key is not None and any(endpoint.mode != "aggregate" for endpoint in endpoints):
            yield Diagnostic(
                code="ranks-not-routed",
                message=f"{role.manifest.name} sends requests by rank to hosts that do not exist, "
                "in prefill and decode",
                place=role.place("flags", key, part="key"),
                help=f"take `{key}` out: the workers spread requests over their ranks",
            )


ADAPTER = SglangRouter()
