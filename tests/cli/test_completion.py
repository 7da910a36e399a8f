"""What Tab offers, asked of the real shells."""

import os
import subprocess
from collections.abc import Sequence

import pytest

from launcher.cli import VERBS, options, verbs, words
from launcher.cli.completion import KINDS, bash, fish, zsh
from launcher.cli.options import FORMATS
from launcher.run.script import Child, Script, dump
from tests.cli.program import LAUNCH, Program


@pytest.fixture
def shell(launch: Program) -> Program:
    """A user whose PATH has `launch`, with a recipe and a run of its own."""
    program = launch.home / "bin" / "launch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(LAUNCH)} "$@"\n')
    program.chmod(0o755)
    run = launch.home / "state" / "launch" / "runs" / "mine-20260801-101500-3fa9"
    run.mkdir(parents=True)
    children = tuple(Child(f"worker-{number}", "worker", ("true",)) for number in range(2))
    (run / "script.json").write_text(dump(Script("mine", (), children)))
    return launch


def ran(shell: Program, words: Sequence[str], script: str, *more: str) -> list[str]:
    path = f"{shell.home / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [*words, script, *more], env=shell.env({"PATH": path}), cwd=shell.home, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.split()


def bash_offers(shell: Program, *words: str) -> list[str]:
    script = f'{bash()}\nCOMP_WORDS=(launch "$@"); COMP_CWORD=$#; _launch; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return ran(shell, ["bash", "-c"], script, "bash", *words)


def fish_offers(shell: Program, *words: str) -> list[str]:
    line = " ".join(["launch", *words[:-1], f"{words[-1]}"])
    told = ran(shell, ["fish", "--no-config", "-c"], f"launch completion fish | source; complete -C '{line}' | cut -f1")
    return [word for word in told if not word.startswith(("bin/", "config/", "state/"))]


RUN = "mine-20260801-101500-3fa9"
CLUSTERS = ["gb300", "h100", "local", "x86-apptainer"]
OFFERED = [
    (["ch"], ["check"]),
    (["check", "--format", ""], list(FORMATS)),
    (["up", "--d"], ["--detach", "--dry-run"]),
    (["schema", "m"], ["manifest"]),
    (["images", "ls", "--js"], ["--json"]),
    (["images", "set", "x", "--arch", "a"], ["aarch64"]),
    (["images", "show", "vll"], ["vllm", "vllm-router"]),
    (["up", "quick"], ["quickstart"]),
    (["check", "quickstart", "sim-v"], ["sim-vllm-router", "sim-vllm-router-pd"]),
    (["up", "quickstart", "--cluster", ""], CLUSTERS),
    (["cluster", "show", "gb"], ["gb300"]),
    (["explain", "unknown-fl"], ["unknown-flag"]),
    (["logs", ""], ["last", RUN]),
    (["logs", "last", "w"], ["worker-0", "worker-1", "worker"]),
    (["logs", "-n", "5", RUN, "worker-0", "worker-"], ["worker-0", "worker-1"]),
    (["exec", RUN, "worker-1"], ["worker-1"]),
    (["down", RUN, "m"], [RUN]),
    (["plan", "quickstart", "--diff", "m"], [RUN]),
    (["completion", "z"], ["zsh"]),
]


@pytest.mark.parametrize(("words", "offered"), OFFERED, ids=lambda words: " ".join(words))
def test_bash_completes(shell: Program, words: list[str], offered: list[str]) -> None:
    assert sorted(bash_offers(shell, *words)) == sorted(offered)


def test_fish_completes(shell: Program) -> None:
    rows = [row for row in OFFERED if "-n" not in row[0]]
    found = [(words, sorted(set(fish_offers(shell, *words)))) for words, _ in rows]
    assert found == [(words, sorted(offered)) for words, offered in rows]


ZSH = """\
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1= PROMPT_EOL_MARK= ZLE_RPROMPT_INDENT=0; source <(launch completion zsh); print re""ady'
zpty -r z got '*ready*'
zpty -w -n z $'launch completion ba\\t'
zpty -r z got '*ba*sh*'
zpty -w z ' | head -1 | cut -c1-7; print do""ne'
zpty -r z got '*done*'
print -r -- $got
"""
"""On a terminal of its own, in a shell that has not set completion up: Tab, and what then runs."""


def test_zsh_completes(shell: Program) -> None:
    assert "_launch" in ran(shell, ["zsh", "-f", "-c"], ZSH)


def test_completed_words_are_what_there_is() -> None:
    assert tuple(words.WORDS) == options.WORDS
    assert set(KINDS.values()) == set(options.WORDS)


def test_other_shells_know_every_verb(launch: Program) -> None:
    assert zsh().endswith(bash())
    assert all(f" -a {verb.rpartition(' ')[2]} " in fish() for verb in [*VERBS, *verbs()])
