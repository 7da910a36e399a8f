"""The source of the engines whose real parsers the tests ask; `make setup` fetches it once.

python -m tests.flags.sources
"""

import sys
import tomllib
from functools import cache
from pathlib import Path

from launcher.execute import wheel
from launcher.model.grammar import Grammar

ROOT = Path(__file__).parents[2]
FOLDER = Path(sys.prefix) / "sources"
VERSIONS = {
    "vllm": ("0.33.0", "0.20.2"),
    "sglang": ("0.5.23", "0.5.9"),
}
"""The newest and one older of each engine, whose parsers every test run asks."""
ALL = {
    "vllm": ("0.11.2", "0.15.1", "0.20.2", "0.27.1", "0.31.0", "0.32.0", "0.33.0"),
    "sglang": ("0.5.5", "0.5.9", "0.5.16", "0.5.23"),
}
"""Those that `make test-all` asks."""


@cache
def grammar(program: str) -> Grammar:
    """How the program is made to tell its flags."""
    text = (ROOT / "manifests" / "flags" / program / "grammar.toml").read_text(encoding="utf-8")
    return Grammar.model_validate(tomllib.loads(text))


def places(program: str, version: str) -> tuple[Path, Path]:
    """The program's unpacked wheel, and the packages its parser needs. Raises Refused where they cannot be had."""
    made = grammar(program)
    return wheel.unpacked(made.distribution or program, version, FOLDER), wheel.support(made.needs, FOLDER)


def main() -> None:
    """Fetches what every test run needs."""
    for program, versions in VERSIONS.items():
        for version in versions:
            places(program, version)


if __name__ == "__main__":
    main()
