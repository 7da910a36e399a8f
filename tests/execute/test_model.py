"""What a model says of itself, and whether there is anything at a path: read where it lies."""

import json
from pathlib import Path

import pytest

from launcher.execute.probe import answers
from launcher.model.facts import Answer, Model, Present, Question


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


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for `srun` that runs what a node would."""
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text('#!/bin/sh\nwhile [ "$1" != sh ]; do shift; done\nexec "$@"\n', encoding="utf-8")
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", f"{srun.parent}:/usr/bin:/bin")
    return srun


@pytest.mark.usefixtures("node")
def test_a_compute_node_is_asked_for_what_only_it_sees(tmp_path: Path) -> None:
    model, none, options = tmp_path / "model", tmp_path / "none", ("--partition=batch",)
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"n": 1}), encoding="utf-8")
    asked = (Model(str(model), options), Model(str(none), ()), Present(str(model), ()), Present(str(none), options))
    found = answers(asked)
    assert [(found[each].yes, found[each].text) for each in asked] == [
        (True, '{"n": 1}'),
        (False, "does not exist on the compute nodes"),
        (True, ""),
        (False, "exists neither here nor on the compute nodes"),
    ]
    assert {each.where for each in found.values()} == {"a compute node"}


@pytest.mark.parametrize("question", [Model("/m", ()), Present("/m", ())], ids=["model", "present"])
def test_nobody_could_look(node: Path, question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer(yes=True, where="a compute node", fault="unreachable")
    node.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert answers([question]) == {question: answer}
    monkeypatch.setenv("PATH", "/nonexistent")
    assert answers([question]) == {question: answer}
