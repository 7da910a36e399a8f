"""Flag catalogues made from a program's own argparse parser, in the environment that has the program.

    python -m launcher.execute.harvest PROGRAM MODULE [WORD…] [--python PYTHON] [--version VERSION]

prints the catalogue to keep as `manifests/flags/PROGRAM/VERSION.json`. The parser is captured as the
program builds it; nothing is started.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.model.catalogue import Catalogue, Flag, dump

TYPES: Mapping[str | None, Mapping[str, Any]] = {
    None: {},
    "str": {},
    "int": {"kind": "int"},
    "float": {"kind": "float"},
    "json.loads": {"kind": "json"},
    "str.lower": {"folded": True},
    "smg.router_args._parse_int_csv": {"kind": "int", "joined": ","},
    "smg.router_args._non_negative_int": {"kind": "int", "minimum": 0},
    "launcher.sim.parser.count": {"kind": "int", "minimum": 1},
    "launcher.sim.parser.index": {"kind": "int", "minimum": 0},
    "launcher.sim.parser.port": {"kind": "int", "minimum": 0, "maximum": 65535},
    "launcher.sim.parser.code": {"kind": "int", "minimum": 0, "maximum": 255},
    "launcher.sim.parser.seconds": {"kind": "float", "minimum": 0, "maximum": 999_999_999},
    "launcher.sim.parser.connector": {"kind": "json"},
}
"""What argparse is given as the type of a flag → what that means. smg's are those of 1.11 and 1.13."""

FLAGS: Mapping[str, Mapping[str, Any]] = {
    # A lambda that splits at commas (smg 1.13.0).
    "--mm-allowed-media-domains": {"joined": ","},
    # Text to argparse, read as a JSON object by the router itself (vllm-router 0.1.17).
    "--program-scheduling-config-json": {"kind": "json"},
}
"""Flags whose parser does not say what they take."""

ACTIONS: Mapping[str, Mapping[str, Any]] = {
    "_StoreAction": {},
    "_AppendAction": {"repeat": "append"},
    "_ExtendAction": {"repeat": "extend"},
    "_StoreTrueAction": {"kind": "bool"},
    "_StoreFalseAction": {"kind": "bool"},
    "BooleanOptionalAction": {"kind": "bool"},
}
_LEAVING = ("_HelpAction", "_VersionAction")


def harvest(program: str, module: Sequence[str], python: str = sys.executable, version: str | None = None) -> Catalogue:
    """The catalogue of `program`, which `python -m MODULE…` runs.

    `version` is for a program that is no distribution of its own name. Raises CalledProcessError where
    the module cannot be run, ValueError for a flag whose type or action is not known here.
    """
    probe = Path(__file__).with_name("actions.py").read_text(encoding="utf-8")
    words = [python, "-c", probe, "-" if version else program, *module]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    raw = json.loads(done.stdout)
    return convert(program, version or raw["version"], raw, f"the argparse parser of `python -m {' '.join(module)}`")


def convert(program: str, version: str, raw: Mapping[str, Any], source: str) -> Catalogue:
    """The catalogue in what `actions.py` printed. Raises ValueError naming every flag that needs a hand."""
    asked = [action for action in raw["actions"] if action["spellings"] and action["action"] not in _LEAVING]
    strange = [action["spellings"][0] for action in asked if not _known(action)]
    if strange:
        raise ValueError(f"say in `TYPES`, `FLAGS` or `ACTIONS` what these take: {', '.join(strange)}")
    flags = [_flag(action) for action in asked]
    return Catalogue(
        program=program,
        version=version,
        flags={flag.name: flag for flag in flags},
        exclusive=tuple(tuple(group) for group in raw["exclusive"]),
        prefixes=raw["prefixes"],
        source=source,
    )


def _known(action: Mapping[str, Any]) -> bool:
    typed = action["type"] in TYPES or any(spelling in FLAGS for spelling in action["spellings"])
    return action["action"] in ACTIONS and typed


def _flag(action: Mapping[str, Any]) -> Flag:
    negatives = _negatives(action)
    spellings = tuple(spelling for spelling in action["spellings"] if spelling not in negatives)
    # argparse's own order, but the first spelling of two dashes is the name people know.
    name = next((spelling for spelling in spellings if spelling.startswith("--")), spellings[0])
    facts = {**ACTIONS[action["action"]], **TYPES.get(action["type"], {}), **FLAGS.get(name, {})}
    return Flag(
        name=name,
        spellings=(name, *(spelling for spelling in spellings if spelling != name)),
        arity=action["nargs"] or None,
        negatives=negatives,
        # Sorted: some parsers take them from a set (sglang-router 0.3.2's tool-call parsers).
        choices=tuple(sorted(action["choices"] or ())),
        **facts,
    )


def _negatives(action: Mapping[str, Any]) -> tuple[str, ...]:
    """What `BooleanOptionalAction` itself takes for the negative spellings."""
    if action["action"] != "BooleanOptionalAction":
        return ()
    return tuple(spelling for spelling in action["spellings"] if spelling.startswith("--no-"))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the catalogue the command line asks for; the exit code is 0."""
    parser = argparse.ArgumentParser(prog="python -m launcher.execute.harvest", description=harvest.__doc__)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environment with the program")
    parser.add_argument("--version", help="version of a program that is no distribution of its own name")
    parser.add_argument("program", help="name of the catalogue, and of the distribution that has the version")
    parser.add_argument("module", nargs="+", help="module that runs the program, and the words before its flags")
    args = parser.parse_args(argv)
    sys.stdout.write(dump(harvest(args.program, args.module, args.python, args.version)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
