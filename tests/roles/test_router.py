"""What all routers have in common: their words, whom they may be in front of, and their gates against bodies of
`/workers` that the real programs answered (tests/roles/workers, two `sim` workers of each mode).
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from launcher.model.catalogue import load
from launcher.model.job import Job
from launcher.plan.plan import plan
from launcher.plan.step import Plan
from launcher.roles.base import Endpoint, nominal
from launcher.roles.llm_d.router import LlmD
from launcher.roles.router import _HAND_OVER, _SERVE, Router
from launcher.run.expect import unmet
from launcher.run.script import Gate, ref
from tests.jobs import ROOT, adapters, job, manifest, role, router, shipped

IP = ref("ip", 0)
SGLANG = {"personality": "sglang"}
ENGINES: dict[str, dict[str, Any]] = {"vllm-router": {}, "sglang-router": SGLANG, "smg": SGLANG}
"""Router → flags of workers that it can be in front of in every mode."""
SWITCH = {
    "vllm-router": "--vllm-pd-disaggregation",
    "sglang-router": "--pd-disaggregation",
    "smg": "--pd-disaggregation",
}
CATALOGUES = {
    (path.parent.name, path.stem): load(path.read_text(encoding="utf-8"))
    for kind in ENGINES
    for path in (ROOT / "manifests" / "flags" / kind).glob("*.json")
}
KINDS = sorted(ENGINES)


def deployed(kind: str, *, halves: bool, ranks: int = 1, flags: dict[str, Any] | None = None) -> Job:
    own = {**ENGINES[kind], **({"dp-size": ranks} if ranks > 1 else {})}
    names = ("prefill", "decode") if halves else ("worker",)
    workers = [role(name, replicas=2, flags=own) for name in names]
    told = {**shipped(kind).flags, **(flags or {})}
    version = shipped(kind).program.version
    return job(*workers, router(kind, flags=told, catalogue=CATALOGUES[kind, str(version)]), ready={"timeout": "90s"})


def words(found: Job) -> tuple[str, ...]:
    return planned(found).steps[-1].words


def planned(found: Job) -> Plan:
    return plan(found, adapters())


@pytest.mark.parametrize("kind", KINDS)
def test_all_urls_in_one_flag_and_none_ends_in_a_slash(kind: str) -> None:
    found = words(deployed(kind, halves=False))
    at = found.index("--worker-urls")
    assert found[at : at + 3] == ("--worker-urls", f"http://{IP}:6100", f"http://{IP}:6132")
    assert found[at + 3].startswith("--")
    assert found.count("--worker-urls") == 1
    assert SWITCH[kind] not in found


@pytest.mark.parametrize("kind", KINDS)
def test_halves_are_told_by_their_mode_with_the_port_they_listen_on(kind: str) -> None:
    found = planned(deployed(kind, halves=True))
    told, at = found.steps[-1].words, found.steps[-1].words.index(SWITCH[kind])
    ports = [("7200",), ("7201",)] if kind != "vllm-router" else [(), ()]
    wanted = (
        SWITCH[kind],
        *("--prefill", f"http://{IP}:6100", *ports[0]),
        *("--prefill", f"http://{IP}:6132", *ports[1]),
        *("--decode", f"http://{IP}:6164"),
        *("--decode", f"http://{IP}:6196"),
    )
    assert told[at : at + len(wanted)] == wanted
    assert "--worker-urls" not in told
    listening = [step.ports.get("bootstrap") for step in found.steps if step.role == "prefill"]
    assert [(str(port),) if port else () for port in listening] == ports


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("halves", [False, True])
def test_it_listens_on_every_address_at_ports_of_the_plan(kind: str, halves: bool) -> None:
    found = planned(deployed(kind, halves=halves)).steps[-1]
    assert {"--host=0.0.0.0", "--prometheus-host=0.0.0.0"} <= {*found.words}
    assert (found.ports["http"], found.ports["prometheus"]) == (8000, 29000)
    assert {"--port=8000", "--prometheus-port=29000"} <= {*found.words}


@pytest.mark.parametrize("kind", KINDS)
def test_it_waits_for_workers_as_long_as_the_recipe_unless_the_user_says_otherwise(kind: str) -> None:
    def timeouts(**flags: Any) -> list[str]:
        return [word for word in words(deployed(kind, halves=False, flags=flags)) if "startup-timeout" in word]

    assert timeouts() == ["--worker-startup-timeout-secs=90"]
    assert timeouts(**{"worker-startup-timeout-secs": 5}) == ["--worker-startup-timeout-secs=5"]
    assert timeouts(**{"worker-startup-timeout": 5}) == ["--worker-startup-timeout-secs=5"]


@pytest.mark.parametrize(("kind", "version"), sorted(CATALOGUES))
@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("ranks", [1, 2])
def test_every_word_is_a_flag_of_the_real_program(kind: str, version: str, halves: bool, ranks: int) -> None:
    told = [word for word in words(deployed(kind, halves=halves, ranks=ranks)) if word.startswith("--")]
    flags = [CATALOGUES[kind, version].spelt.get(word.partition("=")[0]) for word in told]
    assert None not in flags, told
    assert {"--health-check-interval-secs=2", "--health-failure-threshold=2", "--health-success-threshold=1"} <= {*told}


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_launcher_passes_is_owned(kind: str) -> None:
    found = {
        word[2:].partition("=")[0]
        for ranks in (1, 2)
        for halves in (False, True)
        for word in words(deployed(kind, halves=halves, ranks=ranks))
        if word.startswith("--")
    }
    own = {*shipped(kind).flags, "worker-startup-timeout-secs"}
    assert found - own <= {*shipped(kind).owned}
    newest = CATALOGUES[kind, str(shipped(kind).program.version)]
    assert all(newest.find(name) for name in shipped(kind).owned)


def test_a_manifest_without_ports_gets_the_usual_ones() -> None:
    bare = manifest("smg", kind="router", adapter="smg", program={"command": ["smg"]})
    assert "--prometheus-port=29000" in words(job(role("worker"), router(bare)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("halves", [False, True])
def test_ready_asks_every_worker_again_then_the_router_then_for_a_completion(kind: str, halves: bool) -> None:
    """vllm-router lists workers as healthy that nobody has reached, so its own view alone is not enough."""
    found = planned(deployed(kind, halves=halves))
    asked = [gate.url for gate in found.ready]
    view = asked.index(f"http://{IP}:8000/workers")
    assert {f"{endpoint.url}/health" for endpoint in found.endpoints} <= {*asked[:view]}
    assert [(gate.kind, gate.url) for gate in found.ready[view + 1 :]] == [("complete", f"http://{IP}:8000")]
    assert all(set(found.steps[-1].after) >= {step.name} for step in found.steps[:-1])


def refused(found: Job, endpoints: tuple[Endpoint, ...] | None = None) -> list[str]:
    adapter = adapters()[found.router.manifest.adapter]
    seen = nominal(found, adapters()) if endpoints is None else endpoints
    findings = list(adapter.check(found, found.router, seen))
    assert {finding.code for finding in findings} <= {*adapter.codes}
    return [finding.code for finding in findings]


@pytest.mark.parametrize(
    ("kind", "names", "flags", "codes"),
    [
        ("vllm-router", ["worker"], {}, []),
        ("vllm-router", ["worker"], SGLANG, ["engine-not-routed"]),
        ("vllm-router", ["prefill", "decode"], {}, []),
        ("vllm-router", ["prefill", "decode"], SGLANG, ["engine-not-routed"]),
        ("sglang-router", ["worker"], SGLANG, []),
        ("sglang-router", ["worker"], {}, ["engine-not-routed"]),
        ("sglang-router", ["prefill", "decode"], SGLANG, []),
        ("sglang-router", ["prefill", "decode"], {}, ["engine-not-routed"]),
        ("smg", ["worker"], {}, []),
        ("smg", ["worker"], SGLANG, []),
        ("smg", ["prefill", "decode"], SGLANG, []),
        # Everything would say ready, and decode would recompute every prompt.
        ("smg", ["prefill", "decode"], {}, ["handoff-lost"]),
    ],
)
def test_the_simulated_engines_are_judged_as_the_real_ones(kind, names, flags, codes):
    made = job(*(role(name, flags=flags) for name in names), router(kind))
    assert refused(made) == codes


def test_a_worker_without_a_hand_off_is_no_half() -> None:
    engine = manifest("mine", kind="engine", program={"command": ["serve"]}, ports={"http": {"base": 7000}})
    made = job(role("prefill", engine), role("decode", engine), router("vllm-router"))
    (finding,) = adapters()["vllm-router"].check(made, made.router, nominal(made, adapters()))
    assert finding.message == (
        "`prefill` has no KV hand-off that vllm-router could pass on: decode would recompute every prompt"
    )


def test_what_is_proposed_instead_can_do_it() -> None:
    routers = {name: adapter for name, adapter in adapters().items() if isinstance(adapter, (Router, LlmD))}
    assert {*routers} == {*KINDS, "llm-d"}
    for kind, text in _SERVE.items():
        assert {name for name, router in routers.items() if kind in router.serves} == {*text.split("`")[1::2]}
    for kind, text in _HAND_OVER.items():
        assert {name for name, router in routers.items() if kind in router.hands_over} == {*text.split("`")[1::2]}


BODIES = ROOT / "tests" / "roles" / "workers"
RANKED: dict[str, dict[str, Any]] = {"vllm-router": {}, "sglang-router": {"dp-aware": True}, "smg": {"dp-aware": True}}
Change = Callable[[dict[str, Any]], object]


def recorded() -> Iterator[tuple[str, Gate, dict[str, Any]]]:
    """Name of a body, the gate of the deployment that it was seen in, and the body."""
    for path in sorted(BODIES.glob("*.json")):
        kind = next(kind for kind in KINDS if path.name.startswith(kind))
        ranks = 2 if "-ranks" in path.name else 1
        found = deployed(kind, halves="-pd" in path.name, ranks=ranks, flags=RANKED[kind] if ranks > 1 else {})
        (gate,) = planned(found).steps[-1].gates
        yield path.stem, gate, json.loads(path.read_text(encoding="utf-8"))


RECORDED = list(recorded())


def shut(gate: Gate, body: Any) -> list[str]:
    return [fault for fault in (unmet(expect, body) for expect in gate.expect) if fault]


def _other(body: dict[str, Any]) -> None:
    """One worker has another part, in the list alone: the counts still say what is wanted."""
    first = body["workers"][0]
    first["worker_type"] = "decode" if first["worker_type"] != "decode" else "prefill"


def _counted(body: dict[str, Any]) -> None:
    """The counts say one more, the list is right."""
    kind = max(body["stats"], key=body["stats"].__getitem__)
    body["stats"][kind] += 1


WRONG: dict[str, Change] = {
    "one is missing": lambda body: body["workers"].pop(),
    "one too many": lambda body: body["workers"].append(copy.deepcopy(body["workers"][0])),
    "one is sick": lambda body: body["workers"][-1].update(is_healthy=False),
    "one is sick beside all": lambda body: body["workers"].append({**body["workers"][0], "is_healthy": False}),
    "one nobody knows about": lambda body: body["workers"][0].pop("is_healthy"),
    "another part": _other,
    "another count": _counted,
    "no list": lambda body: body.pop("workers"),
    "no counts": lambda body: body.pop("stats"),
    "nobody": lambda body: body.update(
        workers=[], total=0, stats={"prefill_count": 0, "decode_count": 0, "regular_count": 0}
    ),
}


def test_there_are_bodies_of_every_router_in_every_mode() -> None:
    seen = {(name.rpartition("-pd")[0] or name.rpartition("-aggregate")[0], "-pd" in name) for name, *_ in RECORDED}
    assert seen == {(f"{kind}-{version}", halves) for kind, version in CATALOGUES for halves in (False, True)}


@pytest.mark.parametrize(("name", "gate", "body"), RECORDED, ids=[name for name, *_ in RECORDED])
def test_the_gate_is_open_when_all_are_there(name, gate, body):
    assert shut(gate, body) == []


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("name", "gate", "body"), RECORDED, ids=[name for name, *_ in RECORDED])
def test_the_gate_is_shut_when_not(name, gate, body, wrong):
    changed = copy.deepcopy(body)
    WRONG[wrong](changed)
    assert shut(gate, changed)


@pytest.mark.parametrize(("name", "gate", "body"), RECORDED, ids=[name for name, *_ in RECORDED])
def test_the_gate_of_one_mode_is_shut_in_the_other(name, gate, body):
    opposite = name.replace("-pd", "-aggregate") if "-pd" in name else name.replace("-aggregate", "-pd")
    others = {other: seen for other, _, seen in RECORDED}
    assert shut(gate, others[opposite if opposite in others else opposite.removesuffix("-ranks")])
