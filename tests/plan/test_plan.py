import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.job import Role
from launcher.plan.plan import plan
from launcher.plan.step import Mount, Plan, Step
from launcher.run.script import bind, ref, to_data
from launcher.text.diagnostic import Refused
from tests.jobs import adapters, cluster, job, manifest, role, router, site

BOX = manifest(ports={"http": {"base": 7000}, "side_channel": {"base": 7100}}, metrics={"port": "http", "path": "/m"})


def planned(*roles: Role, **fields: Any) -> Plan:
    return plan(job(*roles, **fields), adapters())


def step(found: Plan, name: str) -> Step:
    return next(each for each in found.steps if each.name == name)


def test_the_quickstart_has_workers_before_their_router():
    found = planned(role("worker", replicas=2), router())
    assert [each.name for each in found.steps] == ["worker-0", "worker-1", "router"]
    assert step(found, "router").after == ("worker-0", "worker-1")
    assert step(found, "worker-1").after == ()
    assert found.url == f"http://{ref('ip', 0)}:8000"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ({}, "model"),
        ({"path": "qwen"}, "qwen"),
        ({"path": "/abs/dense"}, "/abs/dense"),
        ({"path": "/abs/dense", "served_name": "dense"}, "dense"),
    ],
)
def test_a_model_is_called_as_the_recipe_writes_it(model: dict[str, str], name: str) -> None:
    assert planned(role("worker"), router(), on=site("gb300"), model=model).served_name == name


def test_environment_of_a_step():
    box = role("box", BOX, env={"A": "1", "LAUNCH_IP": "mine"}, env_from=("TOKEN",), replicas=2, on="worker")
    found = planned(role("worker", gpus=4, replicas=2), box, router(), on=site("gb300"))
    assert step(found, "box-1").env == {
        "A": "1",
        "LAUNCH_IP": ref("ip", 0),
        "LAUNCH_RANK": "0",
        "LAUNCH_REPLICA": "1",
        "LAUNCH_PORT_HTTP": "7001",
        "LAUNCH_PORT_SIDE_CHANNEL": "7101",
        "LAUNCH_URL": f"http://{ref('ip', 0)}:8000",
        "LAUNCH_WORKERS_FILE": f"{ref('run')}/workers.json",
    }
    assert step(found, "box-1").env_from == ("TOKEN",)


def test_a_step_listens_on_as_many_ports_as_its_role_manifest_says() -> None:
    many = manifest(ports={"http": {"base": 7000}, "peers": {"base": 7100, "span": 3}})
    found = planned(role("worker"), role("box", many, replicas=2, on="worker"), router())
    assert step(found, "box-1").listens == {7001: "http", 7103: "peers", 7104: "peers", 7105: "peers"}
    assert step(found, "router").listens == {8000: "http", 29000: "prometheus"}


def test_a_benchmark_is_told_where_everything_is():
    box = role("my-box", BOX, replicas=2)
    load = role("benchmark", manifest("load", kind="benchmark"), env={"A": "1", "LAUNCH_SERVED_NAME": "mine"})
    found = planned(role("worker", replicas=2), box, role("idle", manifest("idle")), router(), load)
    last = found.steps[-1]
    assert (last.name, last.lasting, last.critical, last.gates) == ("benchmark", False, True, ())
    assert last.after == tuple(each.name for each in found.steps[:-1])
    host = f"http://{ref('ip', 0)}"
    assert {name: value for name, value in last.env.items() if not name.startswith(("LAUNCH_R", "LAUNCH_I"))} == {
        "A": "1",
        "LAUNCH_URL": f"{host}:8000",
        "LAUNCH_WORKERS_FILE": f"{ref('run')}/workers.json",
        "LAUNCH_SERVED_NAME": "tiny",
        "LAUNCH_URLS_WORKER": f"{host}:6100 {host}:6132",
        "LAUNCH_URLS_MY_BOX": f"{host}:7000 {host}:7001",
        "LAUNCH_URLS_ROUTER": f"{host}:8000",
    }
    assert not any(name.startswith("LAUNCH_URLS") for each in found.steps[:-1] for name in each.env)


@pytest.mark.parametrize(("replicas", "told"), [(2000, True), (2001, False)])
def test_addresses_that_no_variable_could_hold_are_in_the_file_alone(replicas, told):
    load = role("benchmark", manifest("load", kind="benchmark"))
    last = planned(role("worker", replicas=replicas, gpus=1), router(), load, on=cluster(node={"gpus": 8})).steps[-1]
    assert ("LAUNCH_URLS_WORKER" in last.env) is told
    assert len(last.env.get("LAUNCH_URLS_WORKER", "").replace(ref("ip", 0), "255.255.255.255")) < 128 * 1024


def test_further_nodes_of_a_replica_are_steps_of_their_own():
    found = planned(role("worker", BOX, gpus=8), on=site("gb300"))
    first, second = found.steps
    assert (first.name, first.nodes, second.name, second.nodes) == ("worker-0", (0,), "worker-0-rank1", (1,))
    assert (first.env["LAUNCH_RANK"], second.env["LAUNCH_RANK"]) == ("0", "1")
    assert (first.env["LAUNCH_IP"], second.env["LAUNCH_IP"]) == (ref("ip", 0), ref("ip", 1))
    assert second.env["LAUNCH_PORT_HTTP"] == "8000"
    assert (first.ports, second.ports) == ({"http": 8000, "side_channel": 7100}, {})
    assert [target.step for target in found.targets] == ["worker-0"]


@pytest.mark.parametrize(
    ("gpus", "cpus", "memory"), [(0, None, None), (1, 36, 204800), (2, 72, 409600), (4, 144, 819200), (8, 144, 819200)]
)
def test_cpus_and_memory_are_the_share_of_a_node_by_gpus(gpus, cpus, memory):
    found = planned(role("worker", gpus=gpus), on=site("gb300"))
    assert (found.steps[0].cpus, found.steps[0].memory) == (cpus, memory)


def test_cpus_and_memory_are_unknown_where_the_cluster_does_not_say():
    found = planned(role("worker", gpus=1), on=cluster(node={"gpus": 2}))
    assert (found.steps[0].cpus, found.steps[0].memory) == (None, None)


def test_ready_asks_workers_then_the_router_then_for_a_completion():
    found = planned(role("worker", replicas=2), role("box", BOX), router())
    workers = [gate for name in ("worker-0", "worker-1") for gate in step(found, name).gates]
    assert workers
    assert found.ready[:-1] == (*workers, *step(found, "router").gates)
    last = found.ready[-1]
    assert (last.kind, last.url, last.model) == ("complete", found.url, "tiny")


def test_without_a_router_the_worker_owns_the_public_port():
    found = planned(role("worker"), ports={"public": 4321})
    assert [each.name for each in found.steps] == ["worker-0"]
    assert found.steps[0].ports["http"] == 4321
    assert found.url == f"http://{ref('ip', 0)}:4321"
    assert [gate.kind for gate in found.ready] == ["http", "http", "complete"]


def test_the_url_is_that_of_the_node_the_front_is_on():
    found = planned(role("worker", gpus=4, replicas=2), router(on="dedicated"), on=site("gb300"))
    assert found.nodes == 3
    assert found.url == f"http://{ref('ip', 2)}:8000"


@pytest.mark.parametrize(("timeout", "expected"), [("90s", 90), (5, 5), ("1h", 3600)])
def test_timeout(timeout, expected):
    assert planned(role("worker"), ready={"timeout": timeout}).timeout == expected


@pytest.mark.parametrize(
    ("on", "path", "mounts", "expected"),
    [
        ("gb300", "dsv4-pro", (), [Mount("/lustre/models/DeepSeek-V4-Pro", "/lustre/models/DeepSeek-V4-Pro", True)]),
        ("gb300", "/m", (), [Mount("/m", "/m", True)]),
        ("gb300", "/m/x", (Mount("/a", "/m"),), [Mount("/a", "/m")]),
        ("gb300", "/m/x", (Mount("/a", "/m/x"),), [Mount("/a", "/m/x")]),
        ("gb300", "/mx", (Mount("/a", "/m"),), [Mount("/a", "/m"), Mount("/mx", "/mx", True)]),
        ("gb300", "org/name", (), []),
        ("local", "/m", (), []),
    ],
)
def test_workers_in_containers_see_the_model(on, path, mounts, expected):
    found = planned(role("worker", mounts=mounts), router(), on=site(on), model={"path": path})
    assert list(step(found, "worker-0").mounts) == expected
    assert step(found, "router").mounts == ()


def test_refused_with_every_fault():
    with pytest.raises(Refused) as refused:
        planned(role("worker", gpus=1), role("x", BOX, on="nosuch"), router())
    assert [each.code for each in refused.value.diagnostics] == ["node-has-no-gpus", "unknown-placement"]


@st.composite
def jobs(draw):
    """Jobs that can be planned: workers of one kind or two, boxes, a router."""
    node = draw(st.integers(1, 8))
    size = st.one_of(st.integers(0, node), st.integers(1, 3).map(lambda n: n * node))
    engine = draw(st.sampled_from(["sim", "box"]))
    uses = BOX if engine == "box" else engine
    flags = {"personality": "sglang"} if engine == "sim" else {}
    names = draw(st.sampled_from([("worker",), ("prefill", "decode")]))
    count = st.integers(1, 4)
    roles = [role(name, uses, gpus=draw(size), replicas=draw(count), flags=flags) for name in names]
    if draw(st.booleans()):
        roles.append(role("box", BOX, replicas=draw(count), on=draw(st.sampled_from([None, "dedicated", names[0]]))))
    roles.append(router(on=draw(st.sampled_from([None, "dedicated", names[0]]))))
    setup = draw(st.sampled_from([None, {"inline": "true"}]))
    runtime = draw(st.sampled_from([("none", "local"), ("none", "slurm"), ("pyxis", "slurm")]))
    on = cluster(runtime=runtime[0], scheduler=runtime[1], node={"gpus": node}, setup=setup)
    return job(*roles, on=on, ports={"shift": draw(st.integers(0, 9))})


@given(jobs())
def test_every_endpoint_s_port_belongs_to_its_replica(made):
    found = plan(made, adapters())
    owned = {each.name: each for each in found.steps}
    for endpoint in found.endpoints:
        owner = owned[endpoint.name]
        host, _, port = endpoint.url.removeprefix("http://").partition(":")
        assert host == ref("ip", owner.nodes[0])
        assert int(port) == owner.ports["http"]
        assert owner.role == endpoint.role
        assert endpoint.bootstrap in (None, *owner.ports.values())


@given(jobs())
def test_a_plan_shares_no_gpu_and_no_port_and_is_the_same_every_time(made):
    found = plan(made, adapters())
    gpus = [(node, gpu) for each in found.steps for node in each.nodes for gpu in each.gpus]
    ports = [(each.nodes[0], port) for each in found.steps for port in each.ports.values()]
    assert len(gpus) == len(set(gpus))
    assert len(ports) == len(set(ports))
    assert json.dumps(to_data(found)) == json.dumps(to_data(plan(made, adapters())))


@given(jobs())
def test_every_late_reference_is_one_of_a_node_or_the_run(made):
    found = plan(made, adapters())
    slots = {"run": "/r", "python": "py", **{f"{k}{n}": f"{k}-{n}" for n in range(found.nodes) for k in ("ip", "host")}}
    assert "\ufdd0" not in json.dumps(to_data(bind(found, slots)), ensure_ascii=False)


@given(jobs())
def test_steps_can_be_started_one_after_another(made):
    found = plan(made, adapters())
    names = [each.name for each in found.steps]
    assert len(names) == len(set(names))
    started: set[str] = set()
    while len(started) < len(names):
        ready = {each.name for each in found.steps if set(each.after) <= started} - started
        assert ready
        started |= ready
