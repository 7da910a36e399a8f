"""A run directory that is full or read-only: refused before, an honest outcome during, nothing left."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# A mount of the test's own needs a namespace; who is not root needs one of users as well.
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]

CASES: list[tuple[str, dict[str, Any]]] = [
    ("full_before", {"exit": 1, "refused": "the run directory cannot be made: `{run}`: no space left on device"}),
    ("read_only_before", {"exit": 1, "refused": "the run directory cannot be made: `{run}`: read-only file system"}),
    ("read_only_at_start", {"exit": 1, "refused": "Read-only file system"}),
    ("full_at_start", {"exit": 1, "state": "broken", "cause": "the run directory cannot be written: No space left"}),
    (
        "full_while_starting",
        {"exit": 1, "state": "broken", "cause": "the run directory cannot be written: No space left on device"},
    ),
    (
        "full_and_killed",
        {"exit": 7, "state": "failed", "first": "worker", "hint": "the file system of the run directory is full"},
    ),
    ("full_and_stopped", {"exit": 0, "state": "stopped", "cause": "stopped by `down`"}),
]


@pytest.mark.parametrize(("case", "wanted"), CASES, ids=[case[0] for case in CASES])
def test_disk(tmp_path: Path, case: str, wanted: dict[str, Any]) -> None:
    words = [*NAMESPACE, sys.executable, "-m", "tests.run.disk", case, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["left"] == []
    assert {key: found.get(key) for key in ("exit", "state", "first")} == {
        key: wanted.get(key) for key in ("exit", "state", "first")
    }
    for key, text in wanted.items():
        if isinstance(text, str):
            parts = text.split("{run}")
            assert all(part in found[key] for part in parts), found[key]
