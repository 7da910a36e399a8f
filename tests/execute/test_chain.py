"""Programs whose command line several parsers read one after another, beside the wheels of what they run."""

import tomllib
from pathlib import Path

import pytest

from launcher.execute import harvest, wheel
from launcher.model.catalogue import Flag
from launcher.model.grammar import Grammar, complete
from launcher.text.diagnostic import Refused
from tests.execute.wheels import installed, packed

__all__ = ["installed"]

# Three parsers, each of which reads what those before it have left; the wheel pins what the last one is.
WORKER = """
import argparse, asyncio, engine
async def parse_args(words):
    own = argparse.ArgumentParser(allow_abbrev=False)
    own.add_argument("--tag", type=engine.config)
    own.add_argument("--seed", type=int)
    _, rest = own.parse_known_args(words)
    router = argparse.ArgumentParser(add_help=False)
    router.add_argument("--mode", action=argparse.BooleanOptionalAction)
    _, rest = router.parse_known_args(rest)
    engine.parser().parse_args(rest)
    raise AssertionError("the program must not run")
"""
ENGINE = """
import argparse, gigantic, json
def config(text): return json.loads(text)
def parser():
    made = argparse.ArgumentParser()
    made.add_argument("--seed", type=float)
    made.add_argument("--table", type=config)
    made.add_argument("--model", required=True)
    return made
"""
LIKE = """
schema = 1
name = "worker"
like = ["engine"]
distribution = "worker"
beside = ["engine"]
module = ["worker:parse_args", "--model", "m"]
chain = 3
"""


def test_parsers_that_read_one_after_another_are_one(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    engine = tomllib.loads('schema = 1\nname = "engine"\ndotted = true\n[types]\nconfig = { kind = "json" }\n')
    whole = Grammar.model_validate(complete(tomllib.loads(LIKE), {"engine": engine}.get))
    metadata = 'Requires-Dist: other\nRequires-Dist: engine[fast]==2.0; extra == "engine"\n'
    wheel.extracted(packed(tmp_path, name="engine", text=ENGINE), tmp_path / "cache" / "launch" / "sources")
    made = harvest.from_wheel(whole, None, packed(tmp_path, name="worker", text=WORKER, metadata=metadata)).catalogue
    assert list(made.flags.values()) == [
        Flag("--tag", ("--tag",), kind="json", whole=True),
        Flag("--seed", ("--seed",), kind="int"),
        Flag("--mode", ("--mode",), kind="bool", negatives=("--no-mode",)),
        Flag("--table", ("--table",), kind="json"),
        Flag("--model", ("--model",)),
    ]
    assert made.find("table.a") is not None
    assert made.find("tag.a") is None


def test_what_a_wheel_does_not_pin_is_refused(tmp_path: Path) -> None:
    tree = wheel.extracted(packed(tmp_path), tmp_path / "kept")
    with pytest.raises(Refused, match=r"`server-2\.0` pins no version of engine"):
        wheel.pinned(tree, ["engine"])
