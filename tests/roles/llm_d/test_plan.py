"""llm-d in a plan: who runs where on which ports, what they are told, and in what order they start."""

import json
from pathlib import Path
from typing import Any

import pytest

from launcher.cli import graph
from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.catalogue import load as catalogue
from launcher.model.link import Request, link
from launcher.plan.plan import plan
from launcher.plan.step import Plan, Step
from launcher.render.script import render
from launcher.roles.llm_d.addresses import ENDPOINTS_FILE
from launcher.roles.llm_d.picking import length
from launcher.run.files import encode
from launcher.run.script import CLOSE, OPEN, bind, shown
from tests.jobs import ROOT, shipped

SLOTS = {f"ip{node}": f"10.0.0.{node + 1}" for node in range(4)} | {"run": "/run/1"}
NODES = """
schema = 1
name = "here"
scheduler = "local"
node = { gpus = 4 }
"""
RANKS = """
schema = 1
name = "ranks"
model = { path = "/m", served_name = "tiny" }
router.kind = "llm-d"
defaults.manifest = "vllm"
"""
FLAGS = "flags = { tensor-parallel-size = 2, data-parallel-size = %d, data-parallel-external-lb = true }"
WHOLE = RANKS + "roles.worker.gpus = 8\nroles.worker." + FLAGS % 4
HALVES = RANKS + 'defaults.kv = "nixl"\ndefaults.gpus = 4\nroles.decode.replicas = 2\nroles.prefill.replicas = 1\n'
HALVES += "defaults." + FLAGS % 2


def made(folder: Path, recipe: str, *sets: str) -> Plan:
    """The plan of a shipped recipe, or of a text on nodes of 4 GPUs."""
    (folder / "here.toml").write_text(NODES, encoding="utf-8")
    (folder / "own.toml").write_text(recipe, encoding="utf-8")
    shipped = "\n" not in recipe
    request = Request(recipe if shipped else "./own.toml", "local" if shipped else "./here.toml", sets=sets)
    job = link(Files({}, site=folder, directory=folder), request)
    return plan(job, load({role.manifest.adapter for role in job.roles}))


def step(found: Plan, name: str) -> Step:
    return next(each for each in found.steps if each.name == name)


def data(found: Plan, name: str) -> Any:
    """What a file of the run directory holds."""
    return bind(next(file.data for file in found.files if file.path == f"llm-d/{name}.json"), SLOTS)


def test_whole_requests_need_no_sidecar(tmp_path: Path) -> None:
    found = made(tmp_path, "sim-llm-d")
    assert [each.name for each in found.steps] == ["worker-0", "worker-1", "epp", "envoy"]
    assert step(found, "envoy").ports == {"http": 8000, "admin": 9901, "status": 9911}
    assert step(found, "epp").ports == {"grpc": 9002, "health": 9003, "metrics": 9090}
    assert [gate.kind for gate in found.ready[-3:]] == ["gauge", "http", "complete"]


def test_the_list_of_endpoints_is_as_long_as_it_was_reckoned(tmp_path: Path) -> None:
    found = made(tmp_path, HALVES)
    file = next(file for file in found.files if file.path == ENDPOINTS_FILE)
    longest = dict.fromkeys(SLOTS, "255.255.255.255")
    assert length(found.endpoints) == len(encode(bind(file, longest)))


@pytest.mark.parametrize("recipe", ["sim-llm-d", "sim-llm-d-pd"])
def test_default_scorers_leave_the_size_of_blocks_to_what_workers_tell(tmp_path: Path, recipe: str) -> None:
    """No plugin has a size of its own, nor one that would overrule the workers' metrics."""
    told = json.dumps(data(made(tmp_path, recipe), "epp"))
    assert "prefix-cache-scorer" in told
    assert "block" not in told.casefold() and "autoTune" not in told


def test_each_rank_of_decode_has_a_sidecar_on_its_node_that_calls_it(tmp_path: Path) -> None:
    found = made(tmp_path, HALVES)
    ranks = [each for each in found.endpoints if each.mode == "decode"]
    sidecars = [each for each in found.steps if each.role == "sidecar"]
    assert len(ranks) == len(sidecars) == 4
    for rank, sidecar in zip(ranks, sidecars, strict=True):
        worker = step(found, rank.name)
        assert sidecar.nodes == worker.nodes
        assert f"--model-server-port={worker.ports['http']}" in sidecar.words
        assert f"--port={sidecar.ports['http']}" in sidecar.words
        assert {"--kv-connector=nixlv2", "--secure-proxy=false"} <= {*sidecar.words}
        assert rank.proxy == f"{rank.url.rpartition(':')[0]}:{sidecar.ports['http']}"
        # A sidecar calls its worker at localhost.
        assert "--host=0.0.0.0" in worker.words
    assert all("--host=0.0.0.0" not in each.words for each in found.steps if each.role == "prefill")


def test_the_endpoints_file_has_every_rank_by_its_role_and_those_of_decode_by_their_sidecars(tmp_path: Path) -> None:
    entries = data(made(tmp_path, HALVES), "endpoints")["endpoints"]
    assert [(each["labels"]["llm-d.ai/role"], each["name"], each["address"], each["port"]) for each in entries] == [
        ("decode", "decode-0", "10.0.0.1", "9600"),
        ("decode", "decode-0-rank1", "10.0.0.1", "9601"),
        ("decode", "decode-1", "10.0.0.2", "9602"),
        ("decode", "decode-1-rank1", "10.0.0.2", "9603"),
        ("prefill", "prefill-0", "10.0.0.3", "6164"),
        ("prefill", "prefill-0-rank1", "10.0.0.3", "6165"),
    ]


def test_what_listens_on_every_address_of_a_machine_has_ports_that_are_its_own_on_all_of_its_nodes(
    tmp_path: Path,
) -> None:
    """Nodes of a machine without Slurm are addresses of its loopback; elsewhere each has its own ports."""
    for scheduler, wanted in (("local", [6132, 6164, 9600, 9601]), ("slurm", [6100, 6100, 9600, 9600])):
        site = f'schema = 1\nname = "here"\nscheduler = "{scheduler}"\nnode = {{ gpus = 4 }}\n'
        (tmp_path / "here.toml").write_text(site, encoding="utf-8")
        sizes = 'defaults = { manifest = "sim", gpus = 4 }\nroles = { prefill = {}, decode.replicas = 2 }\n'
        (tmp_path / "own.toml").write_text(BARE + sizes, encoding="utf-8")
        job = link(Files({}, site=tmp_path, directory=tmp_path), Request("./own.toml", "./here.toml"))
        found = plan(job, load({role.manifest.adapter for role in job.roles}))
        names = ("decode-0", "decode-1", "sidecar-0", "sidecar-1")
        assert [step(found, name).ports["http"] for name in names] == wanted
        assert (step(found, "prefill-0").ports["http"] in wanted) is (scheduler == "slurm")


BARE = 'schema = 1\nname = "own"\nmodel.served_name = "tiny"\nrouter.kind = "llm-d"\n'


def test_ranks_of_whole_requests_are_endpoints_on_their_own_nodes(tmp_path: Path) -> None:
    entries = data(made(tmp_path, WHOLE), "endpoints")["endpoints"]
    assert [(each["address"], each["port"]) for each in entries] == [
        ("10.0.0.1", "6100"),
        ("10.0.0.1", "6101"),
        ("10.0.0.2", "6100"),
        ("10.0.0.2", "6101"),
    ]
    assert {each["labels"]["llm-d.ai/role"] for each in entries} == {"both"}


def test_epp_and_envoy_start_after_everything_they_call(tmp_path: Path) -> None:
    found = made(tmp_path, "sim-llm-d-pd")
    workers = {each.name for each in found.endpoints}
    assert {*step(found, "epp").after} == workers | {"sidecar-0", "sidecar-1"}
    assert {*step(found, "envoy").after} == workers | {"epp"}
    assert step(found, "sidecar-0").after == ()
    (gate,) = step(found, "epp").gates
    assert (gate.expect[0].at, gate.expect[0].equals) == ("llm_d_epp_ready_endpoints", 4)


def test_the_epp_may_be_on_a_node_of_its_own_and_envoy_goes_along(tmp_path: Path) -> None:
    found = made(tmp_path, WHOLE, "router.on=dedicated")
    assert step(found, "epp").nodes == step(found, "envoy").nodes == (2,)
    assert found.url == f"http://{step(found, 'envoy').env['LAUNCH_IP']}:8000"
    cluster = data(found, "envoy")["static_resources"]["clusters"][1]
    (host,) = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
    assert host["endpoint"]["address"]["socket_address"] == {"address": "10.0.0.3", "port_value": 9002}


def test_what_the_router_says_lies_under_what_it_brings_along(tmp_path: Path) -> None:
    said = ("router.setup=echo all", 'router.env={ A = "1", B = "1" }', 'roles.epp.env.B="2"')
    found = made(tmp_path, "sim-llm-d-pd", *said)
    for name in ("epp", "envoy", "sidecar-0", "sidecar-1"):
        assert step(found, name).setup == f"setup/{name.split('-')[0]}.sh"
        assert step(found, name).env["A"] == "1"
    assert [step(found, name).env["B"] for name in ("epp", "envoy")] == ["2", "1"]
    assert step(found, "decode-0").setup is None


@pytest.mark.parametrize(("name", "program"), [("epp", "epp"), ("envoy", "envoy"), ("sidecar-0", "pd-sidecar")])
def test_words_are_flags_of_the_real_program_and_those_of_the_launcher_are_owned(
    tmp_path: Path, name: str, program: str
) -> None:
    manifest = shipped(program)
    folder = ROOT / "manifests" / "flags" / program
    known = catalogue((folder / f"{manifest.program.version}.json").read_text(encoding="utf-8"))
    told = [word.partition("=")[0] for word in step(made(tmp_path, "sim-llm-d-pd"), name).words if word[:2] == "--"]
    assert [word for word in told if word not in known.spelt] == []
    assert {word[2:] for word in told} - {*manifest.flags} <= {*manifest.owned}
    assert [flag for flag in manifest.owned if known.find(flag) is None] == []


def test_nothing_in_the_files_is_left_unbound(tmp_path: Path) -> None:
    found = made(tmp_path, HALVES)
    assert not any(
        mark in json.dumps(data(found, name), ensure_ascii=False) for name in FILES for mark in (OPEN, CLOSE)
    )


FILES = ("endpoints", "epp", "envoy")


@pytest.mark.parametrize(("site", "folder"), [("local", "{run}"), ("gb300", "/launch"), ("x86-apptainer", "/launch")])
def test_files_name_each_other_by_the_paths_that_the_programs_see(tmp_path: Path, site: str, folder: str) -> None:
    sizes = () if site == "local" else ("roles.worker.gpus=4",)
    job = link(Files({}, site=tmp_path, directory=tmp_path), Request("sim-llm-d", site, sets=sizes))
    script = render(plan(job, load({role.manifest.adapter for role in job.roles})), job.cluster)
    epp = next(file.data for file in script.files if file.path == "llm-d/epp.json")
    read = next(each["parameters"]["path"] for each in epp["plugins"] if each["type"] == "file-discovery")
    assert shown(read) == f"{folder}/llm-d/endpoints.json"
    (child,) = [each for each in script.children if each.name == "epp"]
    assert f"--config-file={folder}/llm-d/epp.json" in map(shown, child.argv)


def test_the_picture_shows_who_is_asked_and_where_prompts_go_first(tmp_path: Path) -> None:
    found = made(tmp_path, "sim-llm-d-pd")
    assert graph.text(found).splitlines() == [
        "client ──http://{ip0}:8000──▶ envoy (asks epp) ─┬─▶ sidecar-0 :9600 ─▶ decode-0 decode :6164",
        "                                                └─▶ sidecar-1 :9601 ─▶ decode-1 decode :6196",
        "prompts first ─▶ one of prefill-0 :6100, prefill-1 :6132",
    ]
    assert graph.mermaid(found).splitlines()[2:5] == [
        '    front -. "asks" .-> asked0["epp"]',
        '    front --> proxy0["sidecar-0 :9600"] --> worker0["decode-0 decode :6164"]',
        '    proxy0 --> first0["prefill-0 :6100"]',
    ]


OFFLOAD = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}
NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
MOONCAKE = {"kv_connector": "MooncakeConnector", "kv_role": "kv_both"}
BOOTSTRAP = "--mooncake-bootstrap-port=7200"

CONNECTORS = {
    "kv = nixl": ("nixl", ("--kv-connector=nixlv2",)),
    "kv = mooncake": ("mooncake", ("--kv-connector=mooncake", BOOTSTRAP)),
    "nixl": ((NIXL,), ("--kv-connector=nixlv2",)),
    "mooncake": ((MOONCAKE,), ("--kv-connector=mooncake", BOOTSTRAP)),
    "one that has no protocol, then nixl": ((OFFLOAD, NIXL), ("--kv-connector=nixlv2",)),
    "one that has no protocol, then mooncake": ((OFFLOAD, MOONCAKE), ("--kv-connector=mooncake", BOOTSTRAP)),
    "the first of two that have one": ((NIXL, MOONCAKE), ("--kv-connector=nixlv2",)),
    "the other way round": ((MOONCAKE, NIXL), ("--kv-connector=mooncake", BOOTSTRAP)),
}
"""Decode's connectors, several in a `MultiConnector` → what the sidecar is told of them."""


@pytest.mark.parametrize("case", CONNECTORS)
def test_the_sidecar_hands_over_as_decodes_connector_does(tmp_path: Path, case: str) -> None:
    connectors, wanted = CONNECTORS[case]
    many = {"kv_connector": "MultiConnector", "kv_role": "kv_both"}
    if isinstance(connectors, str):
        said = f'kv = "{connectors}"'
    else:
        table = connectors[0] if len(connectors) == 1 else {**many, EXTRA: {"connectors": list(connectors)}}
        said = f"flags.kv-transfer-config = {inline(table)}"
    sizes = "defaults.gpus = 4\ndefaults.flags.tp = 4\nroles = { prefill = {}, decode = {} }\n"
    found = made(tmp_path, f"{RANKS}{sizes}defaults.{said}\n")
    told = tuple(word for word in step(found, "sidecar-0").words if "connector" in word or "bootstrap" in word)
    assert told == wanted
    if BOOTSTRAP in wanted:
        assert step(found, "prefill-0").env["VLLM_MOONCAKE_BOOTSTRAP_PORT"] == "7200"


EXTRA = "kv_connector_extra_config"


def inline(value: Any) -> str:
    """TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(item)}" for key, item in value.items()) + " }"
    return f"[{', '.join(map(inline, value))}]" if isinstance(value, list) else json.dumps(value)
