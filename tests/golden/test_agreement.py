"""What steps of every recipe are told of one another is true, on every cluster."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from launcher.model.cluster import Cluster
from launcher.plan.step import Plan
from launcher.run.script import Gate, Script, bind
from tests.golden import listening, reading, test_golden
from tests.golden.listening import PURPOSES
from tests.golden.reading import EVERYWHERE, LOOPBACK, RUN, SLOTS, Address, Read, split
from tests.golden.test_golden import CASES

made = cache(test_golden.made)


@dataclass(frozen=True)
class Found:
    """A plan, what is executed, the GPUs of a node, the plan's steps, and what they listen on."""

    plan: Plan
    script: Script
    gpus: int
    steps: Sequence[Read]
    listeners: Sequence[Address]


def deployment(plan: Plan, cluster: Cluster, script: Script) -> Found:
    """What there is to see of a plan."""
    steps = reading.read(plan)
    listeners = [each for step in steps for each in listening.listens(step)]
    return Found(plan, script, cluster.node.gpus, steps, listeners)


@cache
def _of(name: str) -> Found:
    return deployment(*made(name))


@pytest.fixture(params=sorted(CASES))
def found(request: pytest.FixtureRequest) -> Found:
    return _of(request.param)


def heard(call: Address, listeners: Sequence[Address]) -> set[str]:
    """The steps that a call reaches: they bind the port on that node, at that address or at every one, for what it is
    called for, if that is known.
    """
    hosts, purpose = {EVERYWHERE, call.host}, PURPOSES.get(call.what, call.what)
    there = [each for each in listeners if (each.node, each.port) == (call.node, call.port) and each.host in hosts]
    return {each.step for each in there if not purpose or each.what == purpose}


def test_every_port_of_a_node_is_bound_by_one_step_for_one_purpose(found: Found) -> None:
    listeners = found.listeners
    count = Counter((each.node, each.port) for each in listeners)
    assert [each for each in listeners if count[each.node, each.port] > 1] == []


def test_whatever_a_step_is_told_of_another_one_binds_where_it_is_called(found: Found) -> None:
    steps, listeners = found.steps, found.listeners
    for step in steps:
        for call in listening.told(step):
            assert len(heard(call, listeners)) == 1, call


def test_what_a_step_binds_other_nodes_reach(found: Found) -> None:
    """On loopback there is Envoy's admin port alone, which that Envoy itself asks."""
    for each in found.listeners:
        own = {EVERYWHERE, SLOTS[f"ip{each.node}"]}
        assert each.host in own or (each.host, each.what) == (LOOPBACK, "admin"), each


def test_every_port_that_is_bound_is_one_of_the_plan_and_tried_on_its_node_first(found: Found) -> None:
    """But those that vLLM searches, and where SGLang's other nodes answer `/health` to nobody."""
    plan = found.plan
    planned = [each for each in found.listeners if each.what not in ("search", "health")]
    for step in plan.steps:
        assert {*step.listens} == {each.port for each in planned if each.step == step.name}, step.name
    allocation = found.script.allocation
    for number, node in enumerate(allocation.nodes if allocation else ()):
        assert list(node.ports) == sorted(each.port for each in planned if each.node == number)


def test_gates_and_scrape_targets_ask_the_step_they_belong_to(found: Found) -> None:
    plan, listeners = found.plan, found.listeners
    for step in plan.steps:
        for gate in step.gates:
            assert heard(called(gate), listeners) == {step.name}, gate.url
    for target in plan.targets:
        assert heard(address(bind(target.address, SLOTS)), listeners) == {target.step}, target


def test_the_end_of_the_start_asks_every_worker_and_then_the_public_port(found: Found) -> None:
    plan, listeners = found.plan, found.listeners
    asked = [heard(called(gate), listeners) for gate in plan.ready]
    workers = {each.name for each in plan.endpoints}
    assert workers <= set().union(*asked[:-1])
    assert plan.ready[-1].kind == "complete"
    assert plan.ready[-1].url == plan.url
    assert len(asked[-1]) == 1


def test_endpoints_are_steps_that_bind_their_addresses_and_are_scraped_once_where_they_have_metrics(
    found: Found,
) -> None:
    plan, listeners = found.plan, found.listeners
    scraped = Counter(target.step for target in plan.targets)
    assert set(scraped.values()) <= {1}
    for each in plan.endpoints:
        assert heard(address(bind(each.url, SLOTS)), listeners) == {each.name}
        assert scraped[each.name] == (each.scheme == "http"), each.name
        if each.proxy:
            assert len(heard(address(bind(each.proxy, SLOTS)), listeners)) == 1
    roles = {each.role for each in plan.endpoints}
    assert {step.name for step in plan.steps if step.role in roles} & set(scraped) <= {e.name for e in plan.endpoints}


def test_who_routes_is_told_every_endpoint_once_and_waits_for_all_that_it_calls(found: Found) -> None:
    plan, steps, listeners = found.plan, found.steps, found.listeners
    routers = [step for step in steps if any(step.flags.get(flag) for flag in ("worker-urls", "decode", "pool-name"))]
    wanted = sorted(split(bind(each.proxy or each.url, SLOTS)) for each in plan.endpoints)
    after = {step.name: set(step.after) for step in plan.steps}
    for step in routers:
        calls = listening.told(step)
        assert sorted((call.host, call.port) for call in calls if call.what == "api") == wanted
        for call in calls:
            assert heard(call, listeners) <= after[step.name], call
    assert len(routers) == ([each.url for each in plan.endpoints] != [plan.url])


def test_children_can_be_started_one_after_another(found: Found) -> None:
    waiting, started = list(found.script.children), set[str]()
    while waiting:
        free = [child for child in waiting if set(child.after) <= started]
        assert free, [child.name for child in waiting]
        started |= {child.name for child in free}
        waiting = [child for child in waiting if child not in free]


def test_ranks_of_a_replica_are_numbered_through_its_servers(found: Found) -> None:
    """Each rank once, from 0 on; every server is told the same size and the same first node."""
    replicas: dict[str, list[Read]] = {}
    for step in found.steps:
        if listening.program(step) == "vllm":
            replicas.setdefault(step.name.partition("-rank")[0], []).append(step)
    for servers in replicas.values():
        ranks = [rank for step in servers for rank in listening.ranks(step)]
        (size,) = {step.number("data-parallel-size", 1) for step in servers}
        assert ranks == list(range(size))
        assert len({(step.one("data-parallel-address"), step.one("data-parallel-rpc-port")) for step in servers}) == 1
        assert "headless" not in servers[0].flags


def test_each_device_is_one_step_s(found: Found) -> None:
    plan = found.plan
    taken = Counter((at, gpu) for step in plan.steps for at in step.nodes for gpu in step.gpus)
    assert set(taken.values()) <= {1}
    assert all(gpu < found.gpus for _, gpu in taken)


def test_kv_events_are_sent_under_the_endpoint_that_is_picked(found: Found) -> None:
    plan, steps = found.plan, found.steps
    picked = {each.name: "{}:{}".format(*split(bind(each.proxy or each.url, SLOTS))) for each in plan.endpoints}
    for step in steps:
        said = json.loads(step.one("kv-events-config", "{}"))
        if "topic" in said:
            endpoint = picked.get(step.name) or picked[step.name.partition("-rank")[0]]
            assert said["topic"] == f"kv@{endpoint}@{plan.served_name}"


def test_every_file_that_is_named_is_written(found: Found) -> None:
    plan, steps = found.plan, found.steps
    written = {file.path for file in plan.files} | {"sim.pyz"}
    for path in (path for step in steps for path in named(step)):
        assert path.removeprefix(f"{RUN}/") in written, path


def named(step: Read) -> Iterator[str]:
    """Paths of the run directory in words, variables and files, but for folders that a program makes itself."""
    texts = [*step.words, *step.env.values(), *strings(list(step.files.values()))]
    made_itself = [step.one("dir")] if "dir" in step.flags else []
    yield from (text.rpartition("=")[2] for text in texts if RUN in text and text not in made_itself)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def called(gate: Gate) -> Address:
    return address(bind(gate.url, SLOTS))


def address(url: str) -> Address:
    host, port = split(url)
    node = next(node for node in range(len(SLOTS)) if SLOTS.get(f"ip{node}") == host)
    return Address("", node, host, port, "")
