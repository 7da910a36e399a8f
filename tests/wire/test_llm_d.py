"""Layouts of vLLM behind llm-d: the real Envoy, and stand-ins for EPP and sidecar."""

import json
import re

import pytest

from tests.llm_d.place import programs
from tests.llm_d.words import BLOCKS, ROOT
from tests.sim.processes import ask, samples
from tests.wire.conftest import PATIENCE, Wire
from tests.wire.test_wire import LONG, MOST, ONE, handed_over, shared

pytestmark = pytest.mark.timeout(2 * PATIENCE)


def equip(wire: Wire) -> None:
    """Says where llm-d's programs are, and lays its configurations beside the recipe."""
    image = programs(wire.home / "llm-d")
    file = wire.home / "config" / "launch" / "clusters" / "local.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(f'{text}{"" if "[images]" in text else "[images]"}\nllm-d = "{image}"\n', encoding="utf-8")
    for path in (ROOT / "recipes" / "epp").iterdir():
        wire.recipe(path.read_text(encoding="utf-8"), path.name)


def test_ranks_have_their_share_and_say_what_they_hold(wire: Wire) -> None:
    """Both by one socket, each under the name of its endpoint."""
    equip(wire)
    flags = "kv_events = true, flags = { data-parallel-size = 2, data-parallel-external-lb = true }, gpus = 2"
    wire.deploy(ONE % flags + 'router = { kind = "llm-d", epp_config = "precise.yaml" }\n', experts=2)
    shared(wire, 2)
    found = set[tuple[str, str]]()
    for number in range(MOST):
        wire.answer(f"{number} {LONG}")
        text = ask(9090 + wire.shift, "/metrics").body.decode()
        found = {each for sample in samples(text) for each in TOLD.findall(sample)}
        if len(found) == 2:
            break
    told = json.loads((wire.run / "llm-d" / "endpoints.json").read_text(encoding="utf-8"))["endpoints"]
    assert found == {(f"{each['address']}:{each['port']}", "tiny") for each in told}
    wire.down()


TOLD = re.compile(BLOCKS + r'\{endpoint="([^"]*)",model="([^"]*)"\}')


def test_halves_hand_over(wire: Wire) -> None:
    """Decode fetches every token of the prompt from the prefill worker that the EPP named to its sidecar."""
    equip(wire)
    halves = 'defaults.kv = "nixl"\nroles.prefill = {}\nroles.decode = {}\nrouter = { kind = "llm-d" }\n'
    wire.deploy(halves, "--unset", "roles.worker")
    handed_over(wire)
    wire.down()
