"""Surroundings a launcher meets: no HOME, a narrow locale, a strict umask, closed streams, no room to write."""

import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import LAUNCH
from tests.end.deployment import Deployment

ALONE = 'schema = 1\nname = "alone"\n[roles.worker]\nmanifest = "sim"\n'
SPOKEN = f'{ALONE}env = {{ GREETING = "größe 世界" }}\n'


@pytest.mark.parametrize(
    "env",
    [
        {"HOME": None},
        {"LANG": "C", "LC_ALL": "C"},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LANG": None, "PYTHONIOENCODING": "ascii"},
        {"TERM": "dumb", "COLUMNS": "20"},
        {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"},
    ],
    ids=str,
)
def test_environment(deployment: Deployment, env: dict[str, str | None]) -> None:
    recipe = deployment.recipe(SPOKEN)
    up = deployment.up(recipe, "--wait", env=env)
    assert up.returncode == 0, up.stderr
    assert deployment("exec", "last", "worker", "--", "printenv", "GREETING").stdout == "größe 世界\n"
    for words in (("render", recipe), ("logs", "last"), ("down", "last")):
        done = deployment(*words, env=env)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def up(deployment: Deployment, before: str = "", after: str = "") -> subprocess.CompletedProcess[bytes]:
    words = " ".join([*LAUNCH, "up", deployment.recipe(ALONE), "--wait", *deployment.ports])
    return subprocess.run(
        ["bash", "-c", f"{before}\n{words} {after}"],
        cwd=deployment.home,
        env=deployment.env(),
        capture_output=True,
        timeout=60,
    )


@pytest.mark.parametrize("mask", ["077", "000", "027"])
def test_umask(deployment: Deployment, mask: str) -> None:
    deployment.recipe(ALONE)
    done = up(deployment, f"umask {mask}")
    assert done.returncode == 0, done.stderr
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in deployment.run.rglob("*")}
    assert stat.S_IMODE(deployment.run.stat().st_mode) == 0o700
    assert {mode & 0o077 for mode in modes.values()} == {0}
    assert all(mode & 0o600 == 0o600 for mode in modes.values())


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
def test_streams(deployment: Deployment, streams: str) -> None:
    done = up(deployment, after=streams)
    assert done.returncode == (1 if "full" in streams else 0), done.stderr
    assert b"Traceback" not in done.stderr
    if "full" not in streams:
        assert deployment("down", "last").returncode == 0
        assert deployment.left() == []


def test_ignored_hang_up_stays_ignored(deployment: Deployment) -> None:
    done = up(deployment, "trap '' HUP")
    assert done.returncode == 0
    assert deployment("down", "last").returncode == 0


@pytest.mark.parametrize("place", ["/proc/nowhere", "/dev/null/x"])
def test_no_room_for_the_run(deployment: Deployment, place: str) -> None:
    done = deployment.up(deployment.recipe(ALONE), env={"XDG_STATE_HOME": place})
    assert done.returncode == 1
    assert done.stderr.startswith("error[run-directory]: the run directory cannot be made: ")
    assert "help: set `XDG_STATE_HOME`" in done.stderr


def test_recipe_from_stdin(deployment: Deployment) -> None:
    done = subprocess.run(
        [*LAUNCH, "up", "-", "--wait", *deployment.ports],
        cwd=deployment.home,
        env=deployment.env(),
        input=ALONE.encode(),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert [path.read_text() for path in Path(deployment.run / "recipe").glob("*stdin*")] == [ALONE]


def test_path_without_programs(deployment: Deployment) -> None:
    done = deployment.up(deployment.recipe(f'{ALONE}setup = "true"\n'), env={"PATH": str(deployment.home)})
    assert done.returncode == 4
    assert "error[program-absent]: role `worker`: `bash` is not on `PATH`" in done.stderr
