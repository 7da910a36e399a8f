"""Command lines of other programs, read by their catalogues: what argparse takes is taken, what it refuses refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.catalogue import faults, load, spell
from launcher.sim.catalogue import Catalogue, Wrong
from tests.sim.processes import ROOT

FOLDER = ROOT / "manifests" / "flags"
VLLM = FOLDER / "vllm" / "0.33.0.json"
SGLANG = FOLDER / "sglang" / "0.5.23.json"


def read(words: list[str], path: Path = VLLM) -> tuple[list[str], dict[str, object]]:
    return Catalogue(path.read_text(encoding="utf-8")).read(words)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.json")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_catalogue_is_read(path: Path) -> None:
    made = Catalogue(path.read_text(encoding="utf-8"))
    assert (made.program, made.version) == (path.parent.name, path.stem)
    assert made.read(["here"]) == (["here"], {})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--port=80", "--port", "81"], {"--port": 81}),
        (["--tensor-parallel-size", "2"], {"--tensor-parallel-size": 2}),
        (["-tp", "2"], {"--tensor-parallel-size": 2}),
        (["--tensor_parallel_size=2"], {"--tensor-parallel-size": 2}),
        (["--tensor=2"], {"--tensor-parallel-size": 2}),
        (["--served-model-name", "a", "b"], {"--served-model-name": ["a", "b"]}),
        (["--enable-expert-parallel"], {"--enable-expert-parallel": True}),
        (["--no-enable-prefix-caching"], {"--enable-prefix-caching": False}),
        (["--max-model-len=16k"], {"--max-model-len": "16k"}),
        (["--seed=-1"], {"--seed": -1}),
        (["-O3"], {}),
        (
            ["--kv-transfer-config", '{"kv_connector":"NixlConnector"}'],
            {"--kv-transfer-config": {"kv_connector": "NixlConnector"}},
        ),
        (
            ["--kv-transfer-config.kv_connector=NixlConnector", "--kv-transfer-config.kv_role", "kv_both"],
            {"--kv-transfer-config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"}},
        ),
    ],
    ids=lambda item: " ".join(item) if isinstance(item, list) else "",
)
def test_what_is_taken(words: list[str], expected: dict[str, object]) -> None:
    assert read(["m", *words]) == (["m"], expected)


# Messages as vLLM 0.32.0 has them.
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--no-such-flag", "1"], "unrecognized arguments: --no-such-flag"),
        (["--port", "abc"], "argument --port: invalid int value: 'abc'"),
        (["--tensor-parallel-size", "1.5"], "argument --tensor-parallel-size: invalid int value: '1.5'"),
        (["--scheduling-policy", "nope"], "argument --scheduling-policy: invalid choice: 'nope'"),
        (["--max-model-len"], "argument --max-model-len: expected one argument"),
        (["--max-model-len", "--port=1"], "argument --max-model-len: expected one argument"),
        (["--enforce-eager=true"], "argument --enforce-eager: ignored explicit argument 'true'"),
        (["--kv-transfer-config", "{bad json"], "argument --kv-transfer-config: invalid JSON"),
        (["--data-parallel", "2"], "ambiguous option: --data-parallel"),
    ],
)
def test_what_is_refused(words: list[str], text: str) -> None:
    with pytest.raises(Wrong, match=text.replace("[", r"\[")):
        read(words)


def test_sglang_takes_no_underscores() -> None:
    with pytest.raises(Wrong, match="unrecognized arguments: --tp_size"):
        read(["--tp_size=2"], SGLANG)
    assert 2 in read(["--tp=2"], SGLANG)[1].values()


@pytest.mark.parametrize("path", [VLLM, SGLANG], ids=["vllm", "sglang"])
def test_words_of_a_recipe_come_back(path: Path) -> None:
    """Every flag with a value that the checks accept: its words, read again, are that flag."""
    catalogue = load(path.read_text(encoding="utf-8"))
    samples: dict[str, Any] = {"int": 1, "float": 0.5, "bool": True, "json": {}, "str": "x", "mixed": "x", "any": "x"}
    checked = 0
    for name in catalogue.flags:
        flag = catalogue.spelt[name]
        value = (flag.choices or (samples[flag.kind],))[0] if flag.kind != "bool" else True
        if flag.retired or list(faults(flag, value)):
            continue
        loose, found = read(["m", *spell(catalogue, {flag.key: value})], path)
        assert flag.name in found, flag.name
        assert loose == ["m"]
        checked += 1
    assert checked > 200


@given(st.text(max_size=20))
def test_what_is_no_catalogue_is_said(text: str) -> None:
    with pytest.raises(ValueError):
        Catalogue(text if text else "{}")


def test_a_broken_document_is_said() -> None:
    with pytest.raises(ValueError, match="not a flag catalogue"):
        Catalogue(json.dumps({"program": "x"}))
