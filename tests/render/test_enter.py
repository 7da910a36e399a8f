"""What runs before a role's program, by the shells that images have."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.render.enter import ENTER, FILES, PIDS, enter
from tests.render.plans import step, words
from tests.render.shells import SHELLS

SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getpid()]))"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return written(tmp_path / "run")


def written(run: Path) -> Path:
    for file in FILES:
        path = run / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text or "")
    return run


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_the_note_is_of_the_program_itself(shell, run):
    done = subprocess.run(
        [*shell, run / ENTER, "worker-0", sys.executable, "-c", SHOW, "a b", "", "$x", "*"],
        capture_output=True,
        text=True,
        check=True,
    )
    argv, _, pid = json.loads(done.stdout)
    assert argv == ["a b", "", "$x", "*"]
    (note,) = [path for path in (run / PIDS).iterdir() if path.name != ".keep"]
    assert note.name == f"worker-0.{os.uname().nodename}.{pid}"
    assert note.read_text().split()[0] == str(pid)
    assert note.read_text().rpartition(")")[2].split()[19].isdecimal()
    assert done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_folder_that_cannot_be_written_keeps_no_role_from_starting(shell, run):
    shutil.rmtree(run / PIDS)
    done = subprocess.run([*shell, run / ENTER, "w", "echo", "on"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("on\n", "")


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    ("kept", "name"), [("own", "own"), ("nosuch", "run/home/worker-0"), (None, "run/home/worker-0")]
)
def test_a_home_that_cannot_be_written_to_gives_way(shell, kept, name, run, tmp_path):
    (tmp_path / "own").mkdir()
    environment = {"PATH": os.environ["PATH"]} | ({} if kept is None else {"HOME": str(tmp_path / kept)})
    words = [*shell, run / ENTER, "worker-0", sys.executable, "-c", SHOW]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    home = Path(json.loads(done.stdout)[1]["HOME"])
    assert home == tmp_path / name
    assert home.is_dir()


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_without_room_for_a_home_it_stays_as_it_was(shell, run):
    (run / "home").write_text("in the way")
    words = [*shell, run / ENTER, "worker-0", "printenv", "HOME"]
    done = subprocess.run(words, env={**os.environ, "HOME": "/nosuch"}, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("/nosuch\n", "")


NAMES = st.sampled_from(["name", "stat", "host", "line", "x", "HOST", "LAUNCH_NAME", "STAT", "_X"])
VALUES = st.binary(max_size=20).map(lambda value: value.replace(b"\0", b"\n"))


@settings(max_examples=25)
@given(environment=st.dictionaries(NAMES, VALUES, max_size=4), argument=VALUES)
def test_every_byte_of_arguments_and_variables_arrives(environment, argument, tmp_path_factory):
    folder = written(tmp_path_factory.mktemp("run"))
    shown = "import os, sys; sys.stdout.buffer.write(repr((os.fsencode(sys.argv[1]), dict(os.environb))).encode())"
    given_ = {name.encode(): value for name, value in environment.items()}
    done = subprocess.run(
        ["sh", folder / ENTER, "w", sys.executable, "-c", shown, argument],
        env={b"PATH": b"/usr/bin:/bin", **given_},
        capture_output=True,
        check=True,
    )
    arrived, found = ast.literal_eval(done.stdout.decode())
    assert arrived == argument
    assert {name: found[name] for name in given_} == given_


@pytest.mark.parametrize(
    ("made", "inner", "expected"),
    [
        (step(), {}, ["sh", "/r/setup/_enter.sh", "worker-0", "go"]),
        (step(gpus=(0, 3)), {}, ["sh", "/r/setup/_enter.sh", "worker-0", "env", "CUDA_VISIBLE_DEVICES=0,3", "go"]),
        (
            step(gpus=(1,), setup="setup/w.sh"),
            {"PATH": "/p q"},
            [
                *("sh", "/r/setup/_enter.sh", "worker-0"),
                *("env", "PATH=/p q", "CUDA_VISIBLE_DEVICES=1"),
                *("sh", "/r/setup/w.sh", "go"),
            ],
        ),
    ],
)
def test_order(made, inner, expected):
    assert words(enter(made, "/r", inner, ("go",))) == expected
