import json
import subprocess
import sys
from typing import Any

import pytest

from launcher.plan.file import preamble
from launcher.plan.step import Step
from launcher.render.bare import bare, environment, inside, variables
from launcher.run.script import ref
from tests.render.plans import words

RUN = ref("run")
PYTHON = ref("python")


def step(**fields: Any) -> Step:
    return Step("w", "worker", (0,), (PYTHON, "-m", "x"), **fields)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (step(), (PYTHON, "-m", "x")),
        (step(setup="setup/w.sh"), ("bash", f"{RUN}/setup/w.sh", PYTHON, "-m", "x")),
        (step(reference="docker.io/a/b"), (PYTHON, "-m", "x")),
        (step(reference="/opt/env/"), ("/opt/env/bin/python", "-m", "x")),
        (step(reference="/e", setup="setup/w.sh"), ("bash", f"{RUN}/setup/w.sh", "/e/bin/python", "-m", "x")),
    ],
)
def test_words(made, expected):
    assert bare(made) == expected


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


ENTER = ["sh", "{run}/setup/_enter.sh", "w"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (step(), [*ENTER, "/opt/python3", "-m", "x"]),
        (step(reference="/e"), [*ENTER, "env", "PATH=/e/bin:{path}", "/e/bin/python", "-m", "x"]),
        (
            step(gpus=(1,), setup="setup/w.sh", env={"LD_PRELOAD": "x.so", "A": "1"}),
            [
                *(*ENTER, "env", "LD_PRELOAD=x.so", "CUDA_VISIBLE_DEVICES=1"),
                *("sh", "{run}/setup/w.sh", "/opt/python3", "-m", "x"),
            ],
        ),
    ],
)
def test_on_a_compute_node(made, expected):
    assert words(inside(made, "/opt/python3")) == expected


def test_srun_is_not_told_what_it_would_read_itself():
    assert variables(step(env={"PATH": "/x", "SLURM_NTASKS": "9", "A": "1"})) == {"A": "1"}


WORDS = ["", " ", "a b", "'", '"', "$HOME", "`id`", "\\", "\n", "*", "-n", "--", "ü", "{ip}", "a\\\nb"]


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize(
    "text", ["export MINE='a b'", "export MINE='a b' \\", "MINE='a b'\nexport MINE\n\n", "\tset -u; export MINE='a b'"]
)
def test_a_preamble_hands_every_word_on_and_its_exports_too(shell, text, tmp_path):
    path = tmp_path / "setup.sh"
    path.write_text(preamble("umask 077 \\", text))
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['MINE']]))"
    done = subprocess.run([shell, path, sys.executable, "-c", code, *WORDS], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [WORDS, "a b"]


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_failing_preamble_ends_the_step_before_its_command(shell, tmp_path):
    path = tmp_path / "setup.sh"
    path.write_text(preamble("(exit 7)\necho later"))
    done = subprocess.run([shell, path, "echo", "command"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "")


def test_a_preamble_that_only_bash_reads_is_run_by_bash(tmp_path):
    path = tmp_path / "setup.sh"
    path.write_text(preamble('list=(a "b c")\n[[ ${list[1]} == b* ]]'))
    done = subprocess.run(["sh", path, "printf", "%s|", "x y", ""], capture_output=True, text=True, check=True)
    assert done.stdout == "x y||"


def test_an_image_without_bash_runs_a_preamble_by_its_own_shell(tmp_path):
    (tmp_path / "bin").mkdir()
    path = tmp_path / "setup.sh"
    path.write_text(preamble("export MINE=1"))
    shell = subprocess.run(["sh", "-c", "command -v sh"], capture_output=True, text=True, check=True).stdout.strip()
    words = [shell, path, "/usr/bin/env"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"PATH": str(tmp_path / "bin")})
    assert "MINE=1" in done.stdout.splitlines()
