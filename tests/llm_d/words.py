"""Command lines as Go's pflag reads them: `--name=value`, `--name value`, switches by `--name` or `--name=false`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VERSION = "0.10.0"
BLOCKS = "stand_in_kv_blocks"
"""Gauge of the EPP's stand-in: blocks of prompts that an endpoint said it has, by endpoint and model."""

_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class Wrong(Exception):
    """What the program says before it ends."""


def parse(program: str, words: Sequence[str]) -> dict[str, str]:
    """The flags that `words` give, by name without dashes, the last of each. Raises Wrong."""
    path = ROOT / "manifests" / "flags" / program / f"{VERSION}.json"
    known = json.loads(path.read_text(encoding="utf-8"))["flags"]
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        flag = known.get(name)
        if flag is None:
            raise Wrong(f"unknown flag: {name}")
        if flag.get("retired"):
            raise Wrong(f"flag {name!r} is deprecated and cannot be used")
        switch = flag.get("kind") == "bool"
        if not equals and not switch and not rest:
            raise Wrong(f"flag needs an argument: {name}")
        if not equals:
            value = "true" if switch else rest.pop(0)
        if not _fits(flag, value):
            raise Wrong(f"invalid argument {value!r} for {name!r} flag")
        found[name.lstrip("-")] = value
    return found


def _fits(flag: dict[str, Any], value: str) -> bool:
    if flag.get("kind") == "bool":
        return value in _TRUTH
    if flag.get("kind") == "int":
        return value.lstrip("-").isdigit()
    return value in flag.get("choices", [value])


def on(flags: dict[str, str], name: str, default: bool = False) -> bool:
    """Whether a switch is on."""
    return _TRUTH[flags[name]] if name in flags else default
