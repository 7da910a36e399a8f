"""`launch up` killed before each change it makes to the world: a job is never lost, and never there twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

RECIPE = 'schema = 1\nname = "small"\n[model]\nserved_name = "t"\n[roles.worker]\nmanifest = "sim"\ngpus = 8\n'
SITE = """\
schema = 1
name = "site"
runs = "$HOME/runs"
[node]
gpus = 8
cpus = 32
"""
ROOT = Path(__file__).parents[2]


def test_killed_at_any_moment_it_neither_loses_nor_doubles_a_job(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(SITE)
    recipe = tmp_path / "small.toml"
    recipe.write_text(RECIPE)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "USER": "alice", "LANG": "C.UTF-8"}
    words = [sys.executable, "-m", "tests.execute.crash", str(tmp_path), str(recipe)]
    done = subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert trials[-1]["first"] == 0
    assert all(trial["first"] == -9 for trial in trials[:-1])
    for trial in trials:
        assert trial["second"] == 0, trial
        # Two that both got through are two runs; one that was cut short is gone on with.
        assert trial["count"] == 1 + trial["noted"], trial
        assert trial["runs"] == trial["jobs"], trial
        assert set(trial["listed"]) == trial["runs"].keys(), trial
    # It was killed before anything was there, before and after `sbatch`, and after the job was known.
    stages = {trial["noted"] for trial in trials}
    assert stages == {0, 1}
    assert [trial for trial in trials if trial["before"].startswith("subprocess.Popen")]
    assert len(trials) > 20
