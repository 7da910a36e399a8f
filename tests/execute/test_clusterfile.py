"""Cluster files that are changed: what was asked for is there, everything else is as it was."""

import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.execute.clusterfile import Changes, changed, created, edited, nested
from launcher.execute.world import Real
from launcher.text.diagnostic import Refused
from launcher.text.document import KeyPath
from tests.model.shelf import Shelf

FILE = """\
# The whole file.
schema = 1
name = "c"       # its name

# What is installed.
[versions]
slurm = "23.11"  # since spring

[node]
gpus = 8
# The next one is for data.

[[mounts]]
source = "/a"
target = "/b"
"""
CHANGES: Changes = {
    ("arch",): "x86_64",
    ("versions", "slurm"): "24.05.1",
    ("versions", "pyxis"): "0.20.0",
    ("node", "cpus"): 96,
    ("slurm", "kill_wait"): 30,
}
AFTER = """\
# The whole file.
schema = 1
name = "c"       # its name
arch = "x86_64"

# What is installed.
[versions]
slurm = "24.05.1"  # since spring
pyxis = "0.20.0"

[node]
gpus = 8
cpus = 96
# The next one is for data.

[[mounts]]
source = "/a"
target = "/b"

[slurm]
kill_wait = 30
"""


def test_only_what_was_asked_for_is_changed() -> None:
    assert changed(FILE, CHANGES) == AFTER
    assert changed(AFTER, CHANGES) == AFTER


def at(data: Mapping[str, Any], path: KeyPath) -> Any:
    for part in path:
        data = data[str(part)]
    return data


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[versions]\n",
        "[versions]\n# alone\n",
        "versions.slurm = '1'  # dotted\n",
        "versions = { slurm = '1' }\nnode = {}\n",
        "[slurm.sbatch]\nconstraint = 'x'\n[node]\ngpus = 1",
        "[slurm]\n\n\n[slurm.srun]\nmem = 1\n",
        "[[mounts]]\nsource = '/a'\ntarget = '/b'\n",
        FILE.replace("\n", "\r\n"),
    ],
)
def test_wherever_keys_stand(text: str) -> None:
    before, after = tomllib.loads(text), tomllib.loads(changed(text, nested(CHANGES.items())))
    for path, value in CHANGES.items():
        assert at(after, path) == value
    for name, value in before.items():
        if not isinstance(value, dict):
            assert after[name] == value
        else:
            assert {
                **after[name],
                **{str(path[1]): after[name][path[1]] for path in CHANGES if path[0] == name},
            } == after[name]
            assert all(after[name][key] == kept for key, kept in value.items() if (name, key) not in CHANGES)
    for line in text.splitlines():
        if line.strip().startswith("#"):
            assert line in changed(text, CHANGES).splitlines()


@pytest.mark.parametrize("text", ["versions = 1\n", "[[versions]]\na = 1\n"])
def test_what_is_in_the_way_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(Refused):
        edited(Real(), Shelf({}), path, "c", {("versions", "slurm"): "1"})
    assert path.read_text() == text


@given(st.text(), st.dictionaries(st.sampled_from(["slurm", "pyxis"]), st.text(min_size=1, max_size=20), min_size=1))
def test_any_value_arrives(junk: str, values: dict[str, str]) -> None:
    comment = "".join(each for each in junk if each.isprintable())
    text = f"schema = 1 # {comment}\n[versions]\nslurm = 'a'\n"
    after = changed(text, {("versions", name): value for name, value in values.items()})
    assert tomllib.loads(after)["versions"] == {"slurm": "a", **values}
    assert after.startswith(f"schema = 1 # {comment}\n")


def test_a_link_is_followed_and_the_mode_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "c.toml"
    real.write_text(FILE)
    real.chmod(0o664)
    link.symlink_to(real)
    assert edited(Real(), Shelf({}), link, "c", CHANGES)
    assert link.is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == (AFTER, 0o664)
    assert not edited(Real(), Shelf({}), link, "c", CHANGES)


def test_a_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "c.toml"
    assert edited(Real(), Shelf({}), path, "c", {("versions", "slurm"): "24.05.1"})
    assert tomllib.loads(path.read_text()) == {"schema": 1, "name": "c", "versions": {"slurm": "24.05.1"}}


def test_nothing_is_written_that_could_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(FILE)
    with pytest.raises(Refused) as raised:
        edited(Real(), Shelf({}), path, "c", {("node", "cpus"): 0})
    assert raised.value.diagnostics[0].exit == 3
    assert path.read_text() == FILE
    assert [each.name for each in tmp_path.iterdir() if not each.name.endswith(".lock")] == ["c.toml"]


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    created(Shelf({}), path, FILE)
    with pytest.raises(Refused):
        created(Shelf({}), path, AFTER)
    assert path.read_text() == FILE
    assert [each.name for each in tmp_path.iterdir() if not each.name.endswith(".lock")] == ["c.toml"]
