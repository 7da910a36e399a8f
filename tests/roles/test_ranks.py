"""vLLM's arithmetic, for any sizes, nodes and replicas: refused for the true reason, or every rank has its own."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from launcher.checks import check
from launcher.model.catalogue import load
from launcher.model.job import Job
from launcher.plan.plan import plan
from launcher.plan.step import Plan, Step
from launcher.text.diagnostic import Diagnostic, errors
from tests.jobs import ROOT, adapters, cluster, job, role, router

VLLM = load((ROOT / "manifests" / "flags" / "vllm" / "0.33.0.json").read_text(encoding="utf-8"))
POWERS = st.sampled_from([1, 2, 4, 8])
# Sizes that fit nothing are refused most of the time; both must come often.
SIZES = POWERS | st.integers(1, 6)


@st.composite
def jobs(draw: Any) -> Job:
    """One vLLM role, or prefill and decode, on nodes of any size, perhaps with another number of GPUs than it takes."""
    node = draw(st.sampled_from([1, 2, 4, 8]) | st.integers(1, 9))
    flags = {
        "data-parallel-size": draw(SIZES),
        "tensor-parallel-size": draw(SIZES),
        "pipeline-parallel-size": draw(st.sampled_from([1, 1, 1, 2, 3])),
        "prefill-context-parallel-size": draw(st.sampled_from([1, 1, 1, 2])),
    }
    if draw(st.booleans()):
        flags["data-parallel-external-lb"] = True
    taken = math.prod(1 if value is True else value for value in flags.values())
    assume(taken <= 128)
    gpus = draw(st.sampled_from([taken, taken, taken, taken + 1, max(taken // 2, 1)]))
    # A router for each way to see the nodes of a replica.
    kind = draw(st.sampled_from(["smg", "vllm-router"]))
    fields = {"gpus": gpus, "flags": flags, "catalogue": VLLM, "kv_events": draw(st.booleans()), "version": "0.33.0"}
    halves = kind == "vllm-router" and draw(st.booleans())
    names: tuple[str, ...] = ("worker",)
    kv = None
    if halves:
        names, kv = ("prefill", "decode"), draw(st.sampled_from(["nixl", "nixl", "mooncake"]))
    replicas = draw(st.integers(1, 3))
    roles = [role(name, "vllm", replicas=replicas, kv=kv, **fields) for name in names]
    site = cluster(node={"gpus": node})
    return job(*roles, router(kind), on=site, model={"path": "/m"})


def refusals(made: Job) -> set[str]:
    worker = made.roles[0]
    node, gpus = made.cluster.node.gpus, worker.gpus
    flags: Mapping[str, Any] = worker.flags
    world = flags["tensor-parallel-size"] * flags["pipeline-parallel-size"] * flags["prefill-context-parallel-size"]
    data = flags["data-parallel-size"]
    found = {"vllm-load-balancing"} if flags.get("data-parallel-external-lb") and data == 1 else set()
    if gpus > node and gpus % node:
        # What sizes come to is nothing to say beside that.
        return found | {"gpus-not-whole-nodes"}
    if gpus != world * data:
        found.add("gpus-not-used")
        return found
    here = min(gpus, node)
    own = flags.get("data-parallel-external-lb") and data > 1
    split = here % world if world <= here else world % here or own
    return found | ({"ranks-split"} if split else set())


@given(jobs())
def test_any_sizes_are_refused_or_planned(made: Job) -> None:
    wanted = refusals(made)
    findings = errors(check(made, adapters()))
    found = {finding.code for finding in findings}
    assert found == wanted
    for finding in findings:
        followed(made, finding)
    if found:
        return
    planned = plan(made, adapters())
    disjoint(planned)
    for each in made.workers:
        for index in range(each.replicas):
            numbered(made, each.flags, [step for step in planned.steps if of(step, f"{each.name}-{index}")])


def followed(made: Job, finding: Diagnostic) -> None:
    """A number of GPUs that a finding names can be had, and is what the sizes come to where it says so."""
    node = made.cluster.node.gpus
    for gpus in map(int, re.findall(r"(?:`gpus = |use |or )(\d+)", finding.help or "")):
        changed = replace(made, roles=tuple(replace(each, gpus=gpus) if each.mode else each for each in made.roles))
        left = {each.code for each in errors(check(changed, adapters()))}
        assert "gpus-not-whole-nodes" not in left, (finding.help, node)
        assert finding.code != "gpus-not-used" or "gpus-not-used" not in left


def of(step: Step, replica: str) -> bool:
    return step.name == replica or step.name.startswith(f"{replica}-rank")


def words(step: Step) -> dict[str, str]:
    return dict(word[2:].partition("=")[::2] for word in step.words if word.startswith("--"))


def disjoint(planned: Plan) -> None:
    """GPUs belong to one step each, and so does every port that anything on a node will listen on."""
    gpus = Counter((node, gpu) for step in planned.steps for node in step.nodes for gpu in step.gpus)
    assert set(gpus.values()) <= {1}
    ports: Counter[tuple[int, int]] = Counter()
    for step in planned.steps:
        local = len(ranks(step)) if step.role != "router" else 1
        for name, port in step.ports.items():
            own = range(local) if name in ("nixl", "kv_events") else range(1)
            ports.update((step.nodes[0], port + offset) for offset in own)
        if "VLLM_PORT" in step.env:
            ports.update((step.nodes[0], int(step.env["VLLM_PORT"]) + offset) for offset in range(50))
    assert set(ports.values()) <= {1}, [port for port, count in ports.items() if count > 1]


def ranks(step: Step) -> range:
    """The data-parallel ranks of a server, as vLLM reads its words."""
    said = words(step)
    size = int(said.get("data-parallel-size", 1))
    if "data-parallel-rank" in said:
        return range(int(said["data-parallel-rank"]), int(said["data-parallel-rank"]) + 1)
    if "nnodes" in said:
        world = math.prod(int(said[f"{kind}-parallel-size"]) for kind in ("tensor", "pipeline", "prefill-context"))
        rank = int(said["node-rank"]) * len(step.gpus) // world
        return range(rank, rank + 1)
    start = int(said.get("data-parallel-start-rank", 0))
    return range(start, start + int(said.get("data-parallel-size-local", size)))


def numbered(made: Job, flags: Mapping[str, Any], steps: list[Step]) -> None:
    """Ranks 0 to DP-1, each once and with its GPUs and ports; start ranks and local sizes add up."""
    world = flags["tensor-parallel-size"] * flags["pipeline-parallel-size"] * flags["prefill-context-parallel-size"]
    data = flags["data-parallel-size"]
    over = world > made.cluster.node.gpus
    every = [rank for step in steps for rank in ranks(step)]
    each = world // made.cluster.node.gpus if over else 1
    assert Counter(every) == dict.fromkeys(range(data), each)
    assert sum(len(step.gpus) for step in steps) == world * data
    for name in ("nixl", "kv_events"):
        listening = [rank for step in steps if name in step.ports for rank in ranks(step)]
        assert listening in ([], list(range(data)))
    if not over:
        assert [len(step.gpus) for step in steps] == [world * len(ranks(step)) for step in steps]
    for step in steps:
        said, start = words(step), ranks(step)[0]
        headless = "headless" in said
        assert headless == ("http" not in step.ports)
        for name in ("nixl", "kv_events"):
            if name in step.ports:
                assert step.ports[name] == steps[0].ports[name] + start
        if len(steps) > 1 and data > 1:
            assert said["data-parallel-address"] == steps[0].env["VLLM_HOST_IP"]
            assert said["data-parallel-rpc-port"] == str(steps[0].ports["rpc"])
        hybrid = "data-parallel-hybrid-lb" in said
        # vLLM 0.32 `engine/arg_utils.py`: a start rank without `--headless` means hybrid.
        assert not (hybrid and headless)
        assert headless or hybrid or "data-parallel-start-rank" not in said
    urls = [each.url for each in plan(made, adapters()).endpoints]
    assert len(urls) == len(set(urls))


def test_without_gpus_all_is_on_one_node() -> None:
    flags = {"data-parallel-size": 4, "data-parallel-external-lb": True}
    made = job(role("worker", "vllm", flags=flags, catalogue=VLLM), router(), model={"path": "/m"})
    planned = plan(made, adapters())
    assert [step.nodes for step in planned.steps] == [(0,)] * 5
    assert [each.url.rpartition(":")[2] for each in planned.endpoints] == ["6100", "6101", "6102", "6103"]
