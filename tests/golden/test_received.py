"""What an `srun` receives from the supervisor's own start of a step is the golden text, to the byte."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.run import child as children
from launcher.run.script import bind
from tests.golden.test_golden import CASES, HERE, made

SLURM = sorted(name for name in CASES if not name.endswith("-local"))


def golden(name: str, child: str) -> list[str]:
    """The words of a child in the golden text, as a shell reads them."""
    text = (HERE / f"{name}.script.txt").read_text()
    start = text.index("  srun \\\n", text.index(f"# {child}\n"))
    return shlex.split(text[start : text.index("\n  stop ", start)].replace(" \\\n    ", " "))


@pytest.mark.parametrize("name", SLURM)
def test_what_srun_receives_is_golden(name: str, tmp_path: Path) -> None:
    program, received = tmp_path / "srun", tmp_path / "received"
    program.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" >{received}\n")
    program.chmod(0o755)
    script = made(name)[2]
    # Late references are bound to what people see in their place.
    bound = bind(script, {slot: f"{{{slot}}}" for slot in script.slots})
    for each in bound.children:
        assert each.argv[0] == "srun"
        running = children.start(
            replace(each, argv=(str(program), *each.argv[1:]), cwd=str(tmp_path)), bound, str(tmp_path)
        )
        assert running._process.wait() == 0
        words = received.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
        assert ["srun", *words] == golden(name, each.name)
