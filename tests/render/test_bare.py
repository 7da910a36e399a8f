import json
import subprocess
import sys
from typing import Any

import pytest

from launcher.plan.file import preamble
from launcher.plan.step import Step
from launcher.render.bare import bare, environment
from launcher.run.script import ref
from tests.jobs import cluster, job, role

RUN = ref("run")
PYTHON = ref("python")


def step(**fields: Any) -> Step:
    return Step("w", "worker", (0,), (PYTHON, "-m", "x"), **fields)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (step(), (PYTHON, "-m", "x")),
        (step(setup="setup/w.sh"), ("bash", f"{RUN}/setup/w.sh", PYTHON, "-m", "x")),
        (step(reference="docker.io/a/b"), (PYTHON, "-m", "x")),
        (step(reference="/opt/env/"), ("/opt/env/bin/python", "-m", "x")),
        (step(reference="/e", setup="setup/w.sh"), ("bash", f"{RUN}/setup/w.sh", "/e/bin/python", "-m", "x")),
    ],
)
def test_words(made, words):
    assert bare(made) == words


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (step(env={"A": "1"}), {"A": "1"}),
        (step(gpus=(2, 3)), {"CUDA_VISIBLE_DEVICES": "2,3"}),
        (step(reference="/e"), {"PATH": f"/e/bin:{ref('path')}"}),
        (step(reference="/e", env={"PATH": "/mine"}), {"PATH": "/e/bin:/mine"}),
        (step(reference="docker.io/a/b"), {}),
    ],
)
def test_environment(made, expected):
    assert environment(made) == expected


WORDS = ["", " ", "a b", "'", '"', "$HOME", "`id`", "\\", "\n", "*", "-n", "--", "ü", "{ip}", "a\\\nb"]


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize(
    "text", ["export MINE='a b'", "export MINE='a b' \\", "MINE='a b'\nexport MINE\n\n", "\tset -u; export MINE='a b'"]
)
def test_a_preamble_hands_every_word_on_and_its_exports_too(shell, text, tmp_path):
    path = tmp_path / "setup.sh"
    made = role("worker", setup=text)
    path.write_text(preamble(job(made, on=cluster(setup={"inline": "umask 077 \\"})), made))
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['MINE']]))"
    done = subprocess.run([shell, path, sys.executable, "-c", code, *WORDS], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [WORDS, "a b"]


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_failing_preamble_ends_the_step_before_its_command(shell, tmp_path):
    path = tmp_path / "setup.sh"
    made = role("worker", setup="(exit 7)\necho later")
    path.write_text(preamble(job(made), made))
    done = subprocess.run([shell, path, "echo", "command"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "")
