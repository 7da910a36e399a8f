"""The entry of the archive: an old Python is told what is wanted."""

import ast
import subprocess
import sys
from pathlib import Path

import launcher.run
from launcher.execute.bundle import bundle

ENTRY = Path(launcher.run.__file__).parent / "__main__.py"


def test_parses_on_python_3_6() -> None:
    ast.parse(ENTRY.read_text(), feature_version=(3, 6))


def test_an_old_python_is_told() -> None:
    # Whatever this machine has, it is made to say that it is 3.8.
    code = (
        "import sys\n"
        "sys.version_info = (3, 8, 1)\n"
        "sys.path.clear()\n"
        "exec(compile(open(sys.argv[1]).read(), 'run.pyz', 'exec'), {'__name__': '__main__'})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(ENTRY)], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"run.pyz: Python 3.9 or newer is needed, this is 3.8 ({sys.executable})\n"


def test_runs_on_the_oldest_python(tmp_path: Path, python39: str) -> None:
    archive = tmp_path / "run.pyz"
    archive.write_bytes(bundle())
    done = subprocess.run([python39, "-I", str(archive)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: run.pyz [--detach] RUNDIR\n")


def test_a_directory_that_is_no_run(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "launcher.run"]
    for flags in ([], ["--detach"]):
        done = subprocess.run([*words, *flags, str(tmp_path / "absent")], capture_output=True, text=True)
        assert done.returncode == 1
        assert f"cannot keep the run {tmp_path}/absent: [Errno 2] No such file or directory" in done.stderr
        assert "Traceback" not in done.stderr
