"""llm-d on a real Slurm whose nodes have addresses of their own: the real Envoy, and stand-ins for EPP and sidecar."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from tests.llm_d.place import programs
from tests.llm_d.words import ROOT
from tests.sim.processes import samples
from tests.slurm.deployment import CLUSTER, Deployed, Site
from tests.testbed.bed import Bed, until

MOST = 60

HEAD = """\
schema = 1
name = "layout"
model = { path = "/m", served_name = "tiny" }
router.kind = "llm-d"
ready.timeout = "90s"
[defaults]
manifest = "vllm"
gpus = %d
flags = { %s }
"""
EXTERNAL = "tp = 4, dp = %d, data-parallel-external-lb = true"


@dataclass(frozen=True)
class Layout:
    """A recipe's roles, who answers, and who computes prompts first."""

    text: str
    answer: frozenset[tuple[str, int]]
    first: frozenset[str] = frozenset()


def ranks(name: str, count: int) -> frozenset[tuple[str, int]]:
    """Servers and ranks where each rank has a server of its own."""
    return frozenset((name + (f"-rank{rank}" if rank else ""), rank) for rank in range(count))


def halves(gpus: int, flags: str, decode: str, kv: str = "nixl") -> str:
    """Prefill and decode."""
    return HEAD % (gpus, flags) + f'kv = "{kv}"\n[roles]\nprefill = {{}}\ndecode = {{ {decode} }}\n'


LAYOUTS = {
    "whole": Layout(
        HEAD % (8, "tp = 8") + "[roles]\nworker.replicas = 2\n", frozenset([("worker-0", 0), ("worker-1", 0)])
    ),
    "whole, of two nodes": Layout(
        HEAD % (16, "dp = 16") + "[roles]\nworker = {}\n", frozenset(("worker-0", rank) for rank in range(16))
    ),
    "whole, a server each rank": Layout(HEAD % (16, EXTERNAL % 4) + "[roles]\nworker = {}\n", ranks("worker-0", 4)),
    "halves": Layout(
        halves(8, "tp = 8", "replicas = 2"), frozenset([("decode-0", 0), ("decode-1", 0)]), frozenset(["prefill-0"])
    ),
    "halves, by mooncake": Layout(
        halves(8, "tp = 4, dp = 2", "replicas = 2", "mooncake"),
        frozenset((f"decode-{replica}", rank) for replica in range(2) for rank in range(2)),
        frozenset(["prefill-0"]),
    ),
    "halves, a server each rank": Layout(
        halves(8, EXTERNAL % 2, "gpus = 16, flags.dp = 4"),
        ranks("decode-0", 4),
        frozenset(["prefill-0", "prefill-0-rank1"]),
    ),
}


@pytest.fixture
def site(networked: Bed) -> Site:
    image = networked.shared / "llm-d"
    if not image.exists():
        programs(image)
    return Site(networked, f'{CLUSTER}llm-d = "{image}"\n')


def parts(run: Deployed, wanted: frozenset[tuple[str, int]]) -> list[dict[str, Any]]:
    """The parts of completions until all that are wanted had one."""
    found: list[dict[str, Any]] = []
    while {(each["worker"], each["rank"]) for each in found} != wanted:
        assert len(found) < MOST, found
        found.append(run.part(prompt=f"{len(found)} b c"))
    return found


def picked(run: Deployed, wanted: int) -> list[tuple[str, str | None]]:
    """Endpoint and prefill worker of each completion, by the log of Envoy, once it has as many as are wanted."""
    return until(lambda: found if len(found := logged(run)) >= wanted else None)


def logged(run: Deployed) -> list[tuple[str, str | None]]:
    """As many of them as it has now."""
    lines = [
        json.loads(line) for line in (run.path / "logs" / "envoy.0.log").read_text().splitlines() if line[:1] == "{"
    ]
    return [(each["endpoint"], each["prefiller"]) for each in lines if each["path"] == "/v1/completions"]


def entries(run: Deployed) -> dict[str, str]:
    """What the EPP was told: endpoint → where it is."""
    told = json.loads((run.path / "llm-d" / "endpoints.json").read_text())["endpoints"]
    return {each["name"]: f"{each['address']}:{each['port']}" for each in told}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_rank_that_can_be_asked_answers(site: Site, layout: Layout) -> None:
    run = site.up("--simulate", text=layout.text)
    found = parts(run, layout.answer)
    told, log = entries(run), picked(run, len(found))
    assert {endpoint for endpoint, _ in log} == {told[worker] for worker, _ in layout.answer}
    if layout.first:
        assert all(each["handed_over"] and not each["recomputed"] for each in found)
        assert {each["prefilled_by"] for each in found} == layout.first
        assert {prefiller for _, prefiller in log} == {told[name] for name in layout.first}
    metrics = {step: next(iter(samples(page))) for step, page in run.pages().items()}
    assert metrics.keys() == {*told, "epp", "envoy"}
    assert {name.partition(":")[0] for step, name in metrics.items() if step in told} == {"vllm"}
    site.launch("down", run.name)
    run.gone()
    assert run.outcome()["exit"] == 0


def telling(config: str, gpus: int, flags: str) -> str:
    """The same, with workers that tell what they hold."""
    router = f'router = {{ kind = "llm-d", epp_config = "{config}" }}'
    return (HEAD % (gpus, flags)).replace('router.kind = "llm-d"', router) + "kv_events = true\n"


EVENTS = {
    "whole": telling("precise.yaml", 16, EXTERNAL % 4) + "[roles]\nworker = {}\n",
    "halves": telling("precise-pd.yaml", 8, EXTERNAL % 2)
    + 'kv = "nixl"\n[roles]\nprefill = {}\ndecode = { gpus = 16, flags.dp = 4 }\n',
}


@pytest.mark.parametrize("layout", EVENTS)
def test_every_rank_tells_the_epp_what_it_holds_under_the_name_of_its_endpoint(site: Site, layout: str) -> None:
    """All of them by one socket, from several nodes: of decode, by the names of their sidecars."""
    for path in (ROOT / "recipes" / "epp").iterdir():
        site.write(path.name, path.read_text())
    run = site.up("--simulate", text=EVENTS[layout])
    told = {at: name for name, at in entries(run).items()}
    asked = iter(range(MOST))

    def named() -> dict[str, str] | None:
        """Endpoint → model, of those that said that they hold a prompt, once all have."""
        number = next(asked)
        run.part(prompt=" ".join(f"{number}w{word}" for word in range(64)))
        text = run.fetch(f"http://10.77.1.101:{EPP}/metrics")
        found = {each["endpoint"]: each["model"] for each in map(labels, samples(text)) if "model" in each}
        return found if len(found) >= len(told) else None

    found = until(named)
    assert {told[at]: model for at, model in found.items()} == dict.fromkeys(told.values(), "tiny")
    for worker in json.loads((run.path / "workers.json").read_text())["workers"]:
        if worker["mode"] != "decode":
            follows(run, worker, entries(run)[worker["name"]])
    site.launch("down", run.name)
    run.gone()


def follows(run: Deployed, worker: dict[str, Any], at: str) -> None:
    """A prompt that llm-d has not seen goes where it was computed: tokens and events alone can tell."""
    prompt = " ".join(f"{worker['name']}-{word}" for word in range(64))
    before = held(run)[at]
    run.part(prompt=prompt, url=worker["url"])
    until(lambda: held(run)[at] >= before + 4 or None)
    found = run.part(prompt=f"{prompt} more")
    assert found["worker" if worker["mode"] == "aggregate" else "prefilled_by"] == worker["name"]


EPP = 9090


def held(run: Deployed) -> Counter[str]:
    """Endpoint → blocks that it said it holds."""
    found = samples(run.fetch(f"http://10.77.1.101:{EPP}/metrics"))
    return Counter(
        {each["endpoint"]: int(value) for name, value in found.items() if "endpoint" in (each := labels(name))}
    )


def labels(sample: str) -> dict[str, str]:
    """The labels of a sample's name."""
    return dict(re.findall(r'(\w+)="([^"]*)"', sample))


def test_a_session_stays_where_it_began(site: Site) -> None:
    shipped = "llm-d:sessions"
    site.launch("up", shipped, "--simulate", "--wait", "--set", 'model.path="/m"', "--set", 'model.served_name="tiny"')
    run = site.last()
    chosen = {
        name: {run.part("-H", f"x-session-id: {name}", prompt=f"{name} {number}")["worker"] for number in range(4)}
        for name in ("ann", "bob", "cyd", "dan")
    }
    assert [len(workers) for workers in chosen.values()] == [1] * 4
    assert set.union(*chosen.values()) == {"worker-0", "worker-1"}
    site.launch("down", run.name)
    run.gone()
