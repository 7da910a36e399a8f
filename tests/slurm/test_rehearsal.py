"""Layouts of several nodes, rehearsed on a real Slurm whose nodes have addresses of their own, behind real routers."""

import pytest

from tests.end.environments import environment
from tests.slurm.deployment import CLUSTER, Site
from tests.testbed.bed import Bed

MOST = 60

HEAD = """\
schema = 1
name = "layout"
model = { path = "/m", served_name = "tiny" }
ready.timeout = "90s"
"""
ROUND = 'router = { kind = "%s", flags = { policy = "round_robin" } }\n'
EXTERNAL = "tp = 4, dp = 4, data-parallel-external-lb = true"

LAYOUTS = {
    # name: recipe, who answers
    "vllm, headless": (
        'roles.worker = { manifest = "vllm", gpus = 24, flags = { dp = 24 } }\n' + ROUND % "smg",
        {("worker-0", rank) for rank in range(24)},
    ),
    "vllm, hybrid": (
        'roles.worker = { manifest = "vllm", gpus = 16, flags = { dp = 16 } }\n' + ROUND % "vllm-router",
        {("worker-0" + "-rank1" * (rank > 7), rank) for rank in range(16)},
    ),
    "vllm, one rank": (
        'roles.worker = { manifest = "vllm", gpus = 16, flags = { tp = 16 } }\n',
        {("worker-0", 0)},
    ),
    "vllm, a server each": (
        f'roles.worker = {{ manifest = "vllm", gpus = 16, flags = {{ {EXTERNAL} }} }}\n' + ROUND % "smg",
        {("worker-0" + (f"-rank{rank}" if rank else ""), rank) for rank in range(4)},
    ),
    "vllm, halves": (
        'defaults = { manifest = "vllm", kv = "nixl", flags = { tp = 8, dp = 1 }, gpus = 8 }\n'
        "roles.prefill = {}\nroles.decode = { replicas = 2 }\n" + ROUND % "vllm-router",
        {("decode-0", 0), ("decode-1", 0)},
    ),
    "sglang, nodes": (
        'roles.worker = { manifest = "sglang", gpus = 16, flags = { tp-size = 16 } }\n' + ROUND % "sglang-router",
        {("worker-0", 0)},
    ),
    "sglang, halves behind smg": (
        'defaults = { manifest = "sglang", kv = "mooncake", gpus = 8, flags = { tp-size = 8 } }\n'
        "roles.prefill = {}\nroles.decode = { replicas = 2 }\n" + ROUND % "smg",
        {("decode-0", 0), ("decode-1", 0)},
    ),
    "sglang, halves": (
        'defaults = { manifest = "sglang", kv = "nixl" }\n'
        "roles.prefill = { gpus = 8, flags = { tp-size = 8 } }\n"
        "roles.decode = { gpus = 16, flags = { tp-size = 16, attn-dp-size = 2 } }\n" + ROUND % "sglang-router",
        {("decode-0", 0), ("decode-0", 1)},
    ),
    "trtllm": (
        'roles.worker = { manifest = "trtllm", gpus = 16, config = { tensor_parallel_size = 16 } }\n' + ROUND % "smg",
        {("worker-0", 0)},
    ),
}


@pytest.fixture
def site(networked: Bed) -> Site:
    images = f'vllm-router = "{{environment}}"\nsglang-router = "{environment("sglang-router")}"\n'
    # Its tasks tell their numbers apart by Slurm's own variables; what they would say over PMIx is not simulated.
    cluster = CLUSTER.replace("kill_wait = 5", 'kill_wait = 5\nmpi = "none"')
    return Site(networked, cluster + images)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_rank_that_can_be_asked_answers(site: Site, layout: str) -> None:
    text, wanted = LAYOUTS[layout]
    run = site.up("--simulate", text=HEAD + text)
    served = set()
    for _ in range(MOST):
        found = run.part()
        served.add((found["worker"], found["rank"]))
        if "halves" in layout:
            assert found["handed_over"] and not found["recomputed"]
        if served == wanted:
            break
    assert served == wanted
    asked = {worker for worker, _ in wanted} | {each for each in run.steps() if each in ("router", "prefill-0")}
    pages = run.pages()
    assert pages.keys() == asked
    assert all("# TYPE" in page for page in pages.values())
    assert run.steps().keys() == {event["step"] for event in run.events if event["event"] == "start"}
    site.launch("down", run.name)
    run.gone()
    assert run.outcome()["exit"] == 0


KEEP = {
    "vllm-router": ("X-Session-ID", "consistent_hash"),
    "smg": ("X-SMG-Routing-Key", "consistent_hashing"),
}


@pytest.mark.parametrize("router", KEEP)
def test_a_session_stays_on_its_server(site: Site, router: str) -> None:
    header, policy = KEEP[router]
    text = f'roles.worker = {{ manifest = "vllm", gpus = 16, flags = {{ {EXTERNAL} }} }}\n'
    run = site.up(
        "--simulate", text=f'{HEAD}{text}router = {{ kind = "{router}", flags = {{ policy = "{policy}" }} }}\n'
    )
    served = set()
    for session in range(MOST):
        first, second = (run.part("-H", f"{header}: s{session}")["worker"] for _ in range(2))
        assert first == second
        served.add(first)
        if session > 4 and len(served) > 1:
            break
    assert len(served) > 1
    site.launch("down", run.name)


def test_a_follower_that_dies_ends_the_run(site: Site) -> None:
    run = site.up("--simulate", text=HEAD + LAYOUTS["vllm, headless"][0])
    site.bed.run(["kill", "-9", str(run.task("worker-0-rank2"))], on="node3")
    outcome = run.outcome()
    assert (outcome["exit"], outcome["first"]["step"]) == (7, "worker-0-rank2")
