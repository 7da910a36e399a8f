"""Catalogues from what a program says of its own options: here a small one that speaks as getopt does."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.execute.usage import asker, harvest, main
from launcher.model.catalogue import Flag, load

PROGRAM = """
import sys
KNOWN = {"nodes": 1, "exclude": 1, "hold": 0, "nice": 2, "segment": 1, "segments-apart": 0}
word = sys.argv[1]
name, given, _ = word.removeprefix("--").partition("=")
if word == "--version":
    sys.exit(print("slurm 24.11.5"))
if word == "--help":
    print("  -N, --nodes=N        number (see --nodelist)")
    print("      --hold           submit in held state")
    sys.exit(print("  -x  --exclude=hosts... not these\\\\n      --help          this\\\\n      --nice[=value]"))
full = [known for known in KNOWN if known.startswith(name)]
if name not in KNOWN and len(full) != 1:
    sys.exit(f"prog: {'option ' + word + ' is ambiguous' if full else 'unrecognized option ' + repr(word)}")
name = name if name in KNOWN else full[0]
if KNOWN[name] == 1 and not given:
    sys.exit(f"prog: option '--{name}' requires an argument")
if KNOWN[name] == 0 and given:
    sys.exit(f"prog: option '--{name}' doesn't allow an argument")
sys.exit("prog: there is no script")
"""
MANUAL = (
    r"\fB\-\-segment\fR=<\fIsize\fR> see \fB\-\-segments\-apart\fR, not \fB\-\-seg\fR, \fB\-\-hol\fR, \fB\-\-nic\fR"
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "prog.py"
    path.write_text(PROGRAM.replace("\\\\n", "\\n"))
    return path


def test_what_the_program_knows_and_what_each_takes(program):
    found = harvest("prog", asker([sys.executable, str(program)]), MANUAL)
    assert (found.program, found.version, found.prefixes) == ("prog", "24.11.5", False)
    assert found.flags == {
        flag.name: flag
        for flag in (
            Flag("--exclude", ("--exclude", "-x"), joined=","),
            Flag("--hold", ("--hold",), kind="bool"),
            Flag("--nice", ("--nice",), arity="?"),
            Flag("--nodes", ("--nodes", "-N")),
            Flag("--segment", ("--segment",)),
            Flag("--segments-apart", ("--segments-apart",), kind="bool"),
        )
    }


def test_the_command_prints_what_is_kept(program, tmp_path, capsys):
    (tmp_path / "prog.1").write_text(MANUAL)
    assert main(["prog", "--man", str(tmp_path / "prog.1"), "--run", f"{sys.executable} {program}"]) == 0
    assert "--segment" in load(capsys.readouterr().out).flags


def test_a_program_without_a_version_is_refused():
    with pytest.raises(ValueError, match="does not say its version"):
        harvest("prog", lambda word: "")


def test_a_program_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("launcher.execute.usage._PATIENCE", 0.05)
    ask: Callable[[str], str] = asker([sys.executable, "-c", "import time; time.sleep(60)"])
    with pytest.raises(subprocess.TimeoutExpired):
        ask("--version")
