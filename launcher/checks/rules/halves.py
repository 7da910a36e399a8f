"""What prefill and decode must say alike, since one reads the other's KV cache."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from launcher.checks.case import Case
from launcher.checks.rules.said import Said, code, said
from launcher.checks.rules.sglang import SGLANG
from launcher.checks.rules.vllm_parallel import VLLM
from launcher.text.diagnostic import Diagnostic, Label

_BACKEND = "disaggregation-transfer-backend"
_ALIKE: Mapping[str, Sequence[str]] = {
    VLLM: ("kv-cache-dtype", "block-size", "served-model-name"),
    SGLANG: ("page-size", "kv-cache-dtype", _BACKEND, "served-model-name"),
}
_WHY: Mapping[str, str] = {
    "served-model-name": "the router asks both for one model",
    _BACKEND: "each speaks to its own kind",
}


def halves_differ(case: Case) -> Iterator[Diagnostic]:
    """Prefill and decode do not say the same of the KV cache

    Decode reads pages that prefill wrote: their size, the type of what is in them and the way they are sent must be
    one, and the router asks both for one model. SGLang fails at the first request, after everything was ready;
    NIXL connectors of vLLM can read another block size, and none another type.
    Sources: SGLang 0.5.23 `disaggregation/common/conn.py:1320-1332`, vLLM 0.33 `nixl/metadata.py:186-202`.

        [roles.prefill.flags]
        page-size = 64
        [roles.decode.flags]
        page-size = 32
    """
    yield from _ways(case)
    for program, names in _ALIKE.items():
        halves = {one.role.mode: one for one in said(case, program)}
        prefill, decode = halves.get("prefill"), halves.get("decode")
        if prefill is None or decode is None:
            continue
        for name in names:
            mine, other = prefill.value(name), decode.value(name)
            if name == _BACKEND and (prefill.role.kv or decode.role.kv):
                continue
            if mine != other and not (name == "block-size" and _nixl(prefill) and _nixl(decode)):
                yield _differs(prefill, decode, name)
        if program == VLLM:
            yield from _connectors(prefill, decode)


def _differs(prefill: Said, decode: Said, name: str) -> Diagnostic:
    first, second = (prefill, decode) if prefill.key(name) else (decode, prefill)
    why = _WHY.get(name, "decode reads what prefill wrote")
    shown = [_shown(one, name) for one in (prefill, decode)]
    message = f"`{name}` is {shown[0]} for prefill and {shown[1]} for decode: {why}"
    finding = first.finding(code(halves_differ), message, name, "say the same in both, or in `[defaults]`")
    if second.key(name) is None:
        return finding
    label = Label(second.role.place(*second.at(name), part="key"), f"`{second.role.name}`")
    return replace(finding, labels=(label,))


def _ways(case: Case) -> Iterator[Diagnostic]:
    """Ways of handing over that differ, where `kv` says at least one of them."""
    halves = {role.mode: Said(role, role.catalogue) for role in case.job.workers if role.catalogue is not None}
    prefill, decode = halves.get("prefill"), halves.get("decode")
    if prefill is None or decode is None or not (prefill.role.kv or decode.role.kv):
        return
    if prefill.catalogue.program != decode.catalogue.program:
        return
    mine, other = _way(case, prefill), _way(case, decode)
    if mine and other and mine != other:
        first, second = (prefill, decode) if prefill.role.kv else (decode, prefill)
        yield Diagnostic(
            code(halves_differ),
            f"prefill hands over by `{mine}`, decode takes by `{other}`",
            first.role.place("kv", part="key"),
            labels=(Label(second.role.place("kv" if second.role.kv else "manifest", part="key"), "the other half"),),
            help="say the same `kv` in both, or in `[defaults]`",
        )


def _way(case: Case, one: Said) -> str | None:
    """What the half hands over by, or None where that is another check's affair."""
    if one.role.kv:
        return one.role.kv
    if one.role.manifest.program.name == SGLANG:
        # SGLang 0.5.5 to 0.5.23 take Mooncake unless told.
        return str(one.value(_BACKEND) or "mooncake")
    has = {name for each in case.endpoints if each.role == one.role.name for name in each.connectors}
    return "nixl" if any(name.startswith("Nixl") for name in has) and "MooncakeConnector" not in has else None


def _shown(one: Said, name: str) -> str:
    value = one.value(name)
    listed = ", ".join(map(str, value)) if isinstance(value, list) else value
    return "nothing" if value is None else f"`{listed}`"


def _connectors(prefill: Said, decode: Said) -> Iterator[Diagnostic]:
    mine, other = (one.table("kv-transfer-config").get("kv_connector") for one in (prefill, decode))
    many = "MultiConnector"
    if mine and other and mine != other and many not in (mine, other) and not (_nixl(prefill) and _nixl(decode)):
        message = f"prefill hands over by `{mine}`, decode takes by `{other}`"
        help_ = "use one connector in both"
        finding = prefill.finding(code(halves_differ), message, "kv-transfer-config", help_, field="kv_connector")
        label = Label(decode.role.place(*decode.at("kv-transfer-config", "kv_connector")), f"`{decode.role.name}`")
        yield replace(finding, labels=(label,))


def _nixl(one: Said) -> bool:
    return str(one.table("kv-transfer-config").get("kv_connector")).startswith("Nixl")


RULES = (halves_differ,)
