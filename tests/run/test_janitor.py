"""The janitor takes away what a run leaves on a node, once it is told."""

import signal
import subprocess
import sys
from pathlib import Path

from launcher.run import janitor, prepare
from launcher.run.script import Allocation, Root, Script, dump

ENROOT = """\
#!/bin/sh
case $1 in
list) cat {folder}/listed;;
remove) echo "$@" >>{folder}/removed; echo "NAME PID" >{folder}/listed;;
esac
"""


def begin(run: Path, *roots: Root, grace: float = 10.0, path: str = "/usr/bin:/bin") -> "subprocess.Popen[str]":
    told = Allocation(("true",), (), ("true",), ("true",), ("true",), roots=roots, grace=grace)
    (run / prepare.BOUND).write_text(dump(Script("x", (), (), allocation=told)))
    words = [sys.executable, "-m", "launcher.run", "--janitor", str(run)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={"PATH": path})
    assert process.stdout is not None
    assert process.stdout.readline() == janitor.READY + "\n"
    return process


def test_a_directory_is_removed_when_told(tmp_path: Path) -> None:
    folder = tmp_path / "roots"
    folder.mkdir()
    with begin(tmp_path, Root("directory", str(folder), ("rm", "-rf", str(folder)))) as process:
        assert folder.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert not folder.exists()


def test_a_directory_in_use_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "roots"
    (folder / "worker").mkdir(parents=True)
    root = Root("directory", str(folder), ("rm", "-rf", str(folder)))
    user = ["sh", "-c", f"echo; read x; : {folder}/worker"]
    with (
        subprocess.Popen(user, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as using,
        begin(tmp_path, root) as process,
    ):
        assert using.stdout is not None
        assert using.stdin is not None
        using.stdout.readline()
        assert janitor.busy(root)
        process.send_signal(signal.SIGTERM)
        using.stdin.close()
        assert process.wait(timeout=30) == 0
    assert not folder.exists()


def test_what_is_used_for_ever_goes_when_time_is_over(tmp_path: Path) -> None:
    folder = tmp_path / "roots"
    (folder / "worker").mkdir(parents=True)
    root = Root("directory", str(folder), ("rm", "-rf", str(folder)))
    with subprocess.Popen(["sh", "-c", f"read x; : {folder}/worker"], stdin=subprocess.PIPE) as using:
        with begin(tmp_path, root, grace=0.5) as process:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        using.kill()
    assert not folder.exists()


def test_enroot_is_asked_for_its_containers(tmp_path: Path) -> None:
    program = tmp_path / "bin/enroot"
    program.parent.mkdir()
    program.write_text(ENROOT.format(folder=tmp_path))
    program.chmod(0o755)
    (tmp_path / "listed").write_text("NAME PID\npyxis_other\npyxis_mine\n")
    mine = [Root("enroot", name, ("enroot", "remove", "--force", name)) for name in ("pyxis_mine", "pyxis_absent")]
    with begin(tmp_path, *mine, path=f"{program.parent}:/usr/bin:/bin") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert (tmp_path / "removed").read_text() == "remove --force pyxis_mine\n"


def test_what_cannot_be_removed_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "roots"
    folder.mkdir()
    with begin(tmp_path, Root("directory", str(folder), ("false",))) as process:
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=30)[0] == f"{folder} is left\n"
        assert process.returncode == 1
