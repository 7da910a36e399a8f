"""Which roles a deployment has."""

from collections.abc import Iterator, Mapping

from launcher.checks.case import Case
from launcher.model.draft import MANIFEST
from launcher.model.job import Mode, Role
from launcher.model.site import LAYER
from launcher.text.diagnostic import Diagnostic, Label


def worker_missing(case: Case) -> Iterator[Diagnostic]:
    """No role serves a model

    A router without workers starts, says it is ready and answers every request with an error. Workers are
    the roles `worker` (each serves whole requests), or `prefill` and `decode`; a role of any other name is a
    service beside them.

        [roles.worker]
        manifest = "sim"
        replicas = 2
    """
    if not case.job.workers:
        yield Diagnostic(
            "worker-missing",
            "no role serves a model",
            case.job.origins.place(("roles",), "key"),
            help="add `[roles.worker]`, or `[roles.prefill]` and `[roles.decode]`",
        )


def modes_mixed(case: Case) -> Iterator[Diagnostic]:
    """Aggregate workers stand beside prefill and decode

    A router sends requests either to workers that serve them whole, or through prefill and decode. Routers
    told of both take one kind and leave the other idle, its GPUs included.

    Take `[roles.worker]` out, or the two others; two deployments are two recipes.
    """
    roles = {role.mode: role for role in case.job.workers}
    half = roles.get("prefill") or roles.get("decode")
    if "aggregate" in roles and half is not None:
        yield Diagnostic(
            "modes-mixed",
            f"the role `{roles['aggregate'].name}` serves whole requests, and `{half.name}` only a half of each",
            case.job.origins.place(("roles", roles["aggregate"].name), "key"),
            labels=(Label(case.job.origins.place(("roles", half.name), "key"), "half a request"),),
            help="keep `[roles.worker]` alone, or `[roles.prefill]` and `[roles.decode]`",
        )


def half_missing(case: Case) -> Iterator[Diagnostic]:
    """Prefill without decode, or decode without prefill

    Prefill computes a prompt's KV cache and decode continues from it; each needs the other. Routers start
    with one of them and answer 503 for ever, while the nodes are held.
    """
    modes = {role.mode for role in case.job.workers}
    for role in case.job.workers:
        other = _OTHER.get(role.name)
        if other is not None and other not in modes:
            yield Diagnostic(
                "half-missing",
                f"`{role.name}` has no `{other}`",
                case.job.origins.place(("roles", role.name), "key"),
                help=f"add `[roles.{other}]`, or serve aggregate with `[roles.worker]`",
            )


_OTHER: Mapping[str, Mode] = {"prefill": "decode", "decode": "prefill"}


def nothing_started(case: Case) -> Iterator[Diagnostic]:
    """A role that starts nothing was told how to start it

    Some role manifests start no process of their own (without a router the only worker owns the public
    port; what llm-d brings along are roles of their own). Flags, environment, mounts or a preamble given to such a role
    would be lost without a word.

        [router]
        kind = "direct"
        flags = { policy = "round_robin" }      # nobody reads it
    """
    for role in case.job.roles:
        if role.manifest.program.command or role.manifest.kind != "router":
            continue
        brought = [each.role for each in role.manifest.implies]
        others = " or ".join(f"`[roles.{name}]`" for name in brought) or "a role that starts a program"
        for key in _OWN if brought else _STARTING:
            if _written(role, key):
                yield Diagnostic(
                    "nothing-started",
                    f"`{role.manifest.name}` starts nothing that could take `{key}`",
                    role.place(key, part="key"),
                    help=f"take `{key}` out, or give it to {others}",
                )


_STARTING = ("setup", "env", "env_from", "flags", "mounts", "version")
_OWN = ("flags", "version")
"""What is not said for all that a router brings along."""


def key_not_read(case: Case) -> Iterator[Diagnostic]:
    """A role says something that its engine or router does not take

    `kv` and `kv_events` set flags of engines that have them, `config` is the file of one that reads it, `epp_config`
    is for a router that has an EPP; what other roles say there would be lost without a word.

        [roles.worker]
        manifest = "sim"
        kv_events = true                    # nobody reads it
    """
    for role in case.job.roles:
        reads = _reads(case, role)
        for key, value in (("config", role.config), ("kv", role.kv), ("kv_events", role.kv_events)):
            if value and key not in reads:
                yield Diagnostic(
                    "key-not-read",
                    f"`{role.manifest.name}` does nothing with `{key}`",
                    role.place(key, part="key"),
                    help=f"take `{key}` out, or use a role manifest that takes it",
                )
    router, read = case.job.router, {key for role in case.job.roles for key in _reads(case, role)}
    if router.epp_config is not None and "epp_config" not in read:
        yield Diagnostic(
            "key-not-read",
            f"`{router.manifest.name}` does nothing with `epp_config`",
            router.place("epp_config", part="key"),
            help="take it out, or use a router that has an EPP",
        )


def _reads(case: Case, role: Role) -> frozenset[str]:
    return case.adapters[role.manifest.adapter].reads


def _written(role: Role, key: str) -> bool:
    """Whether the recipe says `key` of the role, not only what lies under it."""
    return any(origin.layer not in (LAYER, MANIFEST) for origin in role.origins.chains.get((key,), ()))
