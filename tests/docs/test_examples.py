"""The files the guides show are what the guides say they are."""

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.end.block import block

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.toml"))


def launch(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(state), "LANG": "C.UTF-8"}
    program = [sys.executable, "-m", "launcher", *words]
    return subprocess.run(program, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_accepted_but_the_misspelt_one(path: Path, tmp_path: Path) -> None:
    done = launch(tmp_path, "check", str(path.relative_to(ROOT)))
    assert done.returncode == (3 if path.stem == "misspelt" else 0), done.stdout + done.stderr


def test_the_misspelt_one_has_three_mistakes(tmp_path: Path) -> None:
    done = launch(tmp_path, "check", "docs/examples/misspelt.toml", "--format", "concise")
    assert [line.split("[")[1].split("]")[0] for line in done.stdout.splitlines()] == [
        "node-has-no-gpus",
        "unknown-flag",
        "owned-flag",
    ]


def test_a_container_of_the_readers_own_comes_up(tmp_path: Path) -> None:
    with block() as shift:
        began = launch(tmp_path, "up", "docs/examples/prompts.toml", "--wait", "--set", f"ports.shift={shift}")
        assert began.returncode == 0, began.stderr
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{7310 + shift}/", timeout=10) as page:
            assert b"Directory listing" in page.read()
        assert launch(tmp_path, "down", "last").returncode == 0
