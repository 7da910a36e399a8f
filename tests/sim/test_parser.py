"""The command line of the simulated engine, and the flag catalogue made from it."""

import sys
import tomllib

import pytest

from launcher.execute.harvest import from_python
from launcher.model.catalogue import dump
from launcher.model.grammar import Grammar
from launcher.sim import NAME, VERSION
from launcher.sim.parser import actions, parser, settings
from tests.sim.processes import ROOT

NIXL = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'

REFUSED = [
    (("--no-such-flag",), "unrecognized arguments: --no-such-flag"),
    (("--person", "vllm"), "unrecognized arguments: --person vllm"),
    (("model",), "unrecognized arguments: model"),
    (("--personality", "tgi"), "argument --personality: invalid choice: 'tgi'"),
    (("--port", "http"), "argument --port: a whole number from 0 is wanted"),
    (("--port", "70000"), "argument --port: a whole number from 0 to 65535 is wanted"),
    (("--port",), "argument --port: expected one argument"),
    (("--dp-size", "0"), "argument --dp-size: a whole number from 1 is wanted"),
    (("--startup-delay", "-1"), "argument --startup-delay: invalid number of seconds"),
    (("--token-latency", "nan"), "argument --token-latency: invalid number of seconds"),
    (("--token-latency", "inf"), "argument --token-latency: invalid number of seconds"),
    (("--exit-code", "256"), "argument --exit-code: a whole number from 0 to 255 is wanted"),
    (("--exit-code", "3"), "argument --exit-code: needs --fail-after or --fail-after-requests"),
    (("--fail-after-requests", "0"), "argument --fail-after-requests: a whole number from 1 is wanted"),
    (("--kv-transfer-config", "{"), "argument --kv-transfer-config: "),
    (("--kv-transfer-config", "[]"), "a JSON object is wanted"),
    (("--kv-transfer-config", "[" * 100_000), "nested too deeply"),
    (("--kv-transfer-config", '{"kv_connector":"NixlConnector"}'), "kv_role: one of kv_producer, kv_consumer, kv_both"),
    (("--kv-transfer-config", '{"kv_role":"kv_both"}'), "kv_connector: the name of a connector is wanted"),
    (("--kv-transfer-config", NIXL[:-1] + ',"nope":1}'), "nope: Unexpected keyword argument"),
    (("--kv-transfer-config", NIXL[:-1] + ',"kv_rank":1}'), "kv_rank: Unexpected keyword argument"),
    (("--kv-transfer-config", NIXL[:-1] + ',"kv_load_failure_policy":"x"}'), "one of fail, recompute is wanted"),
    (("--personality", "sglang", "--kv-transfer-config", NIXL), "belongs to --personality vllm"),
    (("--disaggregation-mode", "decode"), "belongs to --personality sglang"),
    (("--name", "w\r\n"), "argument --name: only printable characters are wanted, not 'w\\r\\n'"),
    (("--served-model-name", "a\x1b"), "argument --served-model-name: only printable characters are wanted"),
]


@pytest.mark.parametrize(("words", "text"), REFUSED)
def test_wrong_words_are_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str) -> None:
    with pytest.raises(SystemExit) as ended:
        settings(words)
    assert ended.value.code == 2
    assert text in capsys.readouterr().err


def test_side_channel_port_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (settings([]).side_host, settings([]).side_port) == ("localhost", 5600)
    monkeypatch.setenv("VLLM_NIXL_SIDE_CHANNEL_HOST", "10.0.0.1")
    monkeypatch.setenv("VLLM_NIXL_SIDE_CHANNEL_PORT", "5400")
    assert (settings([]).side_host, settings([]).side_port) == ("10.0.0.1", 5400)
    monkeypatch.setenv("VLLM_NIXL_SIDE_CHANNEL_PORT", "tcp://10.0.0.1:5400")
    with pytest.raises(SystemExit):
        settings([])
    assert "VLLM_NIXL_SIDE_CHANNEL_PORT" in capsys.readouterr().err


DEFAULTS = [
    ((), ("0.0.0.0", 8000, "sim", "sim")),
    (("--personality", "sglang"), ("127.0.0.1", 30000, "sim", "sim")),
    (("--model", "/models/x"), ("0.0.0.0", 8000, "/models/x", "/models/x")),
    (("--model", "/models/x", "--served-model-name", "x"), ("0.0.0.0", 8000, "/models/x", "x")),
]


@pytest.mark.parametrize(("words", "found"), DEFAULTS)
def test_defaults_are_those_of_the_engine(words: tuple[str, ...], found: tuple[str, int, str, str]) -> None:
    made = settings(words)
    assert (made.host, made.port, made.model, made.served_name) == found


def test_every_flag_is_explained() -> None:
    assert [action.option_strings for action in actions() if not action.help] == []
    assert "--help" in parser().format_help()


def test_catalogue_is_the_parser() -> None:
    folder = ROOT / "manifests" / "flags" / NAME
    grammar = Grammar.model_validate(tomllib.loads((folder / "grammar.toml").read_text(encoding="utf-8")))
    made = from_python(grammar, [sys.executable], VERSION).catalogue
    assert (folder / f"{VERSION}.json").read_text(encoding="utf-8") == dump(made), "write it anew: `make flags`"


def test_manifest_speaks_of_this_version() -> None:
    manifest = (ROOT / "manifests" / f"{NAME}.toml").read_text(encoding="utf-8")
    assert f'version = "{VERSION}"' in manifest


def test_guide_names_every_flag() -> None:
    guide = (ROOT / "docs" / "guides" / "sim.md").read_text(encoding="utf-8")
    assert [spelling for action in actions() for spelling in action.option_strings if f"`{spelling}" not in guide] == []
