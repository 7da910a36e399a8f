"""What a model says of itself, read where it lies."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from launcher.execute.model import answer
from launcher.execute.probe import answers
from launcher.execute.world import Ran, Real
from launcher.model.facts import Answer, Model


class World(Real):
    """This machine, with another path of programs."""

    def run(
        self,
        words: Sequence[str],
        env: Mapping[str, str] | None = None,
        patience: float = 60.0,
        keep: Sequence[int] = (),
    ) -> Ran:
        return super().run(words, {"PATH": self.environ["PATH"]}, patience, keep)


def test_a_folder_is_read_or_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"num_experts": 8}', encoding="utf-8")
    (tmp_path / "bare").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "pipe").mkdir()
    (tmp_path / "pipe" / "config.json").mkdir()
    asked = {name: Model(str(tmp_path / name)) for name in ("model", "bare", "file", "none", "pipe")}
    found = answers(asked.values())
    assert {name: found[question] for name, question in asked.items()} == {
        "model": Answer(yes=True, text='{"num_experts": 8}'),
        "bare": Answer(yes=True),
        "file": Answer(yes=False, text="is no folder"),
        "none": Answer(yes=False, text="does not exist"),
        "pipe": Answer(yes=True),
    }


def test_a_compute_node_is_asked_for_what_only_it_sees(tmp_path: Path) -> None:
    """A stand-in for `srun` runs what a node would."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"n": 1}), encoding="utf-8")
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text('#!/bin/sh\nwhile [ "$1" != sh ]; do shift; done\nexec "$@"\n', encoding="utf-8")
    srun.chmod(0o755)
    world = World({"PATH": f"{srun.parent}:/usr/bin:/bin"})
    there = answer(Model(str(model), ("--partition=batch",)), world)
    assert there == Answer(yes=True, text='{"n": 1}', where="a compute node")
    gone = answer(Model(str(tmp_path / "none"), ()), world)
    assert gone == Answer(yes=False, text="does not exist on the compute nodes", where="a compute node")


def test_nobody_could_look() -> None:
    found = answer(Model("/m", ()), World({"PATH": "/nonexistent"}))
    assert (found.yes, found.text, found.fault) == (True, "", "unreachable")
