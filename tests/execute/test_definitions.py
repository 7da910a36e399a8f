"""Definitions of images on files: which of several of a name is taken, and what is part of one."""

from pathlib import Path

import pytest

from launcher.execute.library import Files
from launcher.text.diagnostic import Refused

TEXT = 'schema = 1\ndescription = "{}"\narch = ["x86_64"]\n[base]\nreference = "a:1"\n'


def written(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def files(home: Path, directory: str) -> Files:
    for folder in ("shipped", directory):
        (home / folder).mkdir(exist_ok=True)
    environment = {"XDG_CONFIG_HOME": str(home / "config")}
    return Files(environment, shipped=home / "shipped", site=home / "etc", directory=home / directory)


def test_they_lie_over_each_other(tmp_path: Path) -> None:
    places = [("shipped", "smg"), ("etc", "smg"), ("config/launch", "own"), (".", "smg"), ("cwd", "tool")]
    for place, name in places:
        written(tmp_path / place / "images" / name / "image.toml", TEXT.format(place))
    written(tmp_path / "images/smg/files/run.sh").chmod(0o755)
    written(tmp_path / "images/smg/.hidden")
    written(tmp_path / "etc/images/empty/Containerfile")
    shelf = files(tmp_path, "cwd")
    assert shelf.images() == ["own", "smg", "tool"]
    found = shelf.image("smg")
    assert found is not None
    # The project's own: the nearest above where we are.
    assert found.document.data["description"] == "."
    told = [(path, digest.endswith(" x")) for path, digest in found.files]
    assert told == [("files/run.sh", True), ("image.toml", False)]
    assert shelf.image("empty") is shelf.image("clusters") is shelf.image("../smg") is None


def test_a_recipe_elsewhere_is_of_another_project(tmp_path: Path) -> None:
    written(tmp_path / "images/smg/image.toml", TEXT.format("."))
    written(tmp_path / "far/away/mine.toml", 'schema = 1\nname = "mine"\n')
    written(tmp_path / "far/images/smg/image.toml", TEXT.format("far"))
    shelf = files(tmp_path, "cwd")
    shelf.recipe("../far/away/mine.toml")
    assert (found := shelf.image("smg")) is not None
    assert found.document.data["description"] == "far"


def test_one_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "images/smg/image.toml", "schema = \n")
    with pytest.raises(Refused) as refused:
        files(tmp_path, ".").image("smg")
    assert [finding.code for finding in refused.value.diagnostics] == ["toml-syntax"]
