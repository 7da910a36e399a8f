"""What a preamble says and does that ends before the role's program, by the shells that images have."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from launcher.plan.file import preamble
from launcher.run.excerpt import excerpt
from tests.render.shells import SHELLS

ENDS = [
    ("role", None, "(exit 4)", 4),
    ("role", "true", "exit 3", 3),
    ("role", "true", "exit 0", 0),
    ("role", "true", "f() { return 5; }; f", 5),
    ("role", "true", "nosuch-program", 127),
    ("role", "true", "set -e; set -x; x=$(exit 6)", 6),
    ("role", "true", "kill -9 $$", -9),
    ("cluster", "exit 3", "true", 3),
    ("cluster", "true && false", None, 1),
    ("cluster", "trap 'echo mine' EXIT; exit 3", None, 3),
    (None, "true", "false || true; (exit 1) || :", 9),
    (None, None, "set -u; trap 'echo mine' EXIT", 9),
]


def by(shell: list[str], folder: Path, *texts: str | None) -> list[str]:
    """The words that run the preamble by the shell, also where there is a bash that it would ask for."""
    path = folder / "setup.sh"
    first, _, rest = preamble(*texts).partition("\n")
    assert "exec bash" in first
    path.write_text(f"\n{rest}")
    return [*shell, str(path)]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(("whose", "site", "own", "status"), ENDS)
def test_whose_preamble_ended_is_said(shell, whose, site, own, status, tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as file:
        words = [*by(shell, tmp_path, site, own), "sh", "-c", "exit 9"]
        done = subprocess.run(words, stdout=file, stderr=file, check=False)
    assert done.returncode == status
    silent = status == -9 or "mine" in f"{site}"
    assert excerpt(str(log)).unfinished == (None if silent else whose)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("text", ["if true", "echo 'open", "if ; then", "cat <<X && false\n${"])
def test_a_syntax_error_is_the_preamble_s(shell, text, tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as file:
        done = subprocess.run([*by(shell, tmp_path, "true", text), "true"], stdout=file, stderr=file, check=False)
    assert done.returncode != 0
    assert excerpt(str(log)).unfinished == "role"


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_program_that_cannot_be_started_is_not_the_preamble_s(shell, tmp_path):
    done = subprocess.run([*by(shell, tmp_path, "true"), "/nosuch"], capture_output=True, text=True, check=False)
    assert (done.returncode, "launch:" in done.stderr) == (127, False)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_preamble_as_it_ends_the_shell_alone(shell, number, tmp_path):
    words = [*by(shell, tmp_path, None, "sh -c 'echo begun; exec sleep 3600'"), "echo", "program"]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert started.stdout is not None
    assert started.stdout.readline() == b"begun\n"
    while started.poll() is None:
        # bash (5.2) that is told just before it waits for a child waits for its end, or to be told again.
        started.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            started.wait(0.5)
    assert started.returncode == -number
    os.killpg(started.pid, signal.SIGKILL)
    assert started.stdout.read() == b""
    started.stdout.close()


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_program_has_the_signals_it_would_have_without_a_preamble(shell, tmp_path):
    words = [*by(shell, tmp_path, "true", "true"), "grep", "^Sig[IC]", "/proc/self/status"]
    found = subprocess.run(words, capture_output=True, check=True).stdout
    bare = [*shell, "-c", 'exec "$@"', "sh", *words[len(shell) + 1 :]]
    assert found == subprocess.run(bare, capture_output=True, check=True).stdout
