"""`make demo` as a newcomer meets it: it ends well, and leaves nothing behind however it ends."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end.block import block

ROOT = Path(__file__).parents[1]


def left(folder: Path) -> list[str]:
    """Command lines of processes that have `folder` in their environment or work in it."""
    found = (_inside(process, os.fsencode(folder)) for process in Path("/proc").glob("[0-9]*"))
    return [command for command in found if command]


def _inside(process: Path, folder: bytes) -> str:
    try:
        known = (process / "environ").read_bytes() + os.fsencode((process / "cwd").readlink())
        return (process / "cmdline").read_text(errors="replace").replace("\0", " ") if folder in known else ""
    except OSError:
        return ""


@pytest.fixture
def shift() -> Iterator[int]:
    """Where the demo's ports begin: nobody else's."""
    with block() as found:
        yield found


@pytest.fixture
def demo(tmp_path: Path, shift: int) -> Iterator["subprocess.Popen[str]"]:
    """The demo in a session of its own, as a terminal would have it, its runs below `tmp_path`."""
    process = subprocess.Popen(
        [sys.executable, "docs/demo.py", str(shift)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_demo_ends_well(demo: "subprocess.Popen[str]", tmp_path: Path) -> None:
    said, _ = demo.communicate(timeout=120)
    assert demo.returncode == 0, said
    for part in ("client ──", "launch up quickstart --wait", "finish_reason: ", "launch ps", "launch down"):
        assert part in said
    assert left(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("moment", "signalled"),
    [("launch plan", "alone"), ("launch up", "group"), ("launch up", "alone"), ("launch ps", "group")],
)
def test_demo_interrupted_leaves_nothing(
    demo: "subprocess.Popen[str]", tmp_path: Path, moment: str, signalled: str
) -> None:
    assert demo.stdout is not None
    for line in demo.stdout:
        if moment in line:
            break
    if signalled == "group":
        os.killpg(demo.pid, signal.SIGINT)
    else:
        demo.terminate()
    said, _ = demo.communicate(timeout=60)
    # At the last moment everything may have gone well before the signal came.
    assert demo.returncode in ({0, 1} if moment == "launch ps" else {1}), said
    assert ("interrupted" in said) is (demo.returncode == 1)
    assert left(tmp_path) == []


def test_demo_moves_when_a_port_is_taken(shift: int, request: pytest.FixtureRequest) -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 8000 + shift))
        holder.listen()
        process: subprocess.Popen[str] = request.getfixturevalue("demo")
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert f"--set ports.shift={shift + 100}" in said
