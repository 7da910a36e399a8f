"""The files of `docs/ci`: their form, and what keeps them safe."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.services.project import ROOT

GITHUB = ROOT / "docs/ci/github.yml"
GITLAB = ROOT / "docs/ci/gitlab-ci.yml"
BIN = Path(sys.executable).parent


def steps() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, job in yaml.safe_load(GITHUB.read_text())["jobs"].items():
        yield from ((name, step) for step in job["steps"])


@pytest.mark.parametrize(("file", "schema"), [(GITHUB, "github-workflows"), (GITLAB, "gitlab-ci")])
def test_form(file: Path, schema: str) -> None:
    words = [str(BIN / "check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_that_an_auditor_would_find() -> None:
    words = [str(BIN / "zizmor"), "--offline", "--no-progress", "--strict-collection", str(GITHUB)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_used_is_pinned_and_little() -> None:
    whole = yaml.safe_load(GITHUB.read_text())
    used = {step["uses"] for _, step in steps() if "uses" in step}
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", each) for each in used), used
    assert whole["permissions"] == {}
    assert "pull_request_target" not in whole[True]  # `on`, as YAML 1.1 has it
    assert whole["concurrency"]
    writes = {name for name, job in whole["jobs"].items() if job["permissions"].get("contents") == "write"}
    assert writes == {"lock"}
    assert all(job["timeout-minutes"] for job in whole["jobs"].values())


def test_scripts_are_bash_alone() -> None:
    """Whatever an event holds comes by the environment, so it is never read as a command."""
    scripts = [step["run"] for _, step in steps() if "run" in step]
    for job in yaml.safe_load(GITLAB.read_text()).values():
        if isinstance(job, dict):
            scripts += ["\n".join(job.get(part, [])) for part in ("before_script", "script")]
    for script in scripts:
        assert "${{" not in script
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
        assert done.returncode == 0, (script, done.stderr)


def test_steps_of_one_name_are_one_step() -> None:
    """There is no other way to share them in a file that is copied; they must not come apart."""
    found: dict[str, set[str]] = {}
    for _, step in steps():
        if step.get("name") in ("install", "log in", "squashfs tools"):
            found.setdefault(step["name"], set()).add(step["run"] + json.dumps(step.get("env")))
    assert {name: len(texts) for name, texts in found.items()} == {"install": 1, "log in": 1, "squashfs tools": 1}
