"""`launch images pull|ensure|du|prune`, against a real registry."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.testbed import oci
from tests.testbed.registry import Served


@pytest.fixture(scope="module")
def served(served: Served) -> Served:
    for number in range(3):
        layer = [oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry(f"{number}", os.urandom(300_000))]
        both = [oci.image([layer], arch=arch) for arch in ("amd64", "arm64")]
        served.pusher.push(f"c/i{number}", "1", *both)
    return served


@pytest.fixture
def launch(tmp_path: Path, served: Served) -> Program:
    made = Program(tmp_path)
    lines = "".join(f'i{number} = "{served.host}/c/i{number}:1"\n' for number in range(3))
    (tmp_path / "site.toml").write_text(
        f'schema = 1\nname = "site"\nruntime = "pyxis"\narch = "x86_64"\n[store]\npath = "{tmp_path}/store"\n'
        f'[images]\n{lines}gone = "{served.host}/c/gone:1"\nfile = "/i/x.sqsh"\n'
    )
    return made


def images(launch: Program, *words: str) -> tuple[int, str, str]:
    done = launch("images", *words, "--cluster", "./site.toml")
    return done.returncode, done.stdout, done.stderr


def test_ensure_for_scripts(launch: Program, served: Served) -> None:
    status, path, err = images(launch, "ensure", "i0", "--print-path")
    assert (status, err) == (0, "")
    assert Path(path.strip()).read_bytes()[:4] == b"hsqs"
    assert images(launch, "ensure", f"docker://{served.host}/c/i0:1", "--print-path") == (0, path, "")
    assert images(launch, "ensure", "i0", "--arch", "aarch64", "--print-path")[1] != path
    status, out, err = images(launch, "ensure", "gone")
    assert (status, out) == (4, "")
    assert "error[image-absent]: `" in err
    assert images(launch, "ensure", "file")[0] == 2
    assert launch("images", "ensure", "i0", "--cluster", "gb300").returncode == 2


def test_a_store_that_is_no_folder(launch: Program) -> None:
    (launch.home / "file").write_bytes(b"")
    (launch.home / "link").symlink_to("nowhere")
    (launch.home / "real").mkdir()
    (launch.home / "good").symlink_to("real")
    for store in ("file", "file/below", "link"):
        for words in (["ensure", "i0"], ["du"], ["prune", "--max-size", "1M"]):
            status, out, err = images(launch, *words, "--store", store)
            assert (status, out) == (0 if words != ["ensure", "i0"] and store == "file/below" else 1, "")
            assert status == 0 or f"{store}`: not a directory" in err
    status, path, _ = images(launch, "ensure", "i0", "--store", "good", "--print-path")
    assert (status, Path(path.strip()).parent) == (0, launch.home / "good")


def test_pull_goes_on_and_says_what_failed(launch: Program) -> None:
    status, out, _ = images(launch, "pull", "i0", "i1", "--dry-run")
    assert (status, out.count(" KiB"), list((launch.home / "store").glob("*"))) == (0, 2, [])
    status, out, err = images(launch, "pull", "--set")
    assert (status, out.count(".sqsh")) == (4, 3)
    assert "error[image-absent]: `gone`: " in err
    found = tomllib.loads((launch.home / "site.toml").read_text())["images"]
    assert all(found[f"i{number}"].startswith(f"{launch.home}/store/i{number}-") for number in range(3))
    assert found["file"] == "/i/x.sqsh"
    assert launch("images", "pull", "nope", "--cluster", "./site.toml").returncode == 2


def test_what_is_no_reference_is_told(launch: Program) -> None:
    """By name, not left out."""
    file = launch.home / "site.toml"
    file.write_text(file.read_text() + 'upper = "ghcr.io/Me/x:1"\n')
    said = "`Me/x` is not the name of a repository"
    for words in (["pull", "i0", "upper"], ["pull", "upper"]):
        status, out, err = images(launch, *words)
        assert (status, out.count(".sqsh"), f"error[image-unusable]: `upper`: {said}" in err) == (
            4,
            len(words) - 2,
            True,
        )
    for words in (["lock"], ["lock", "upper"]):
        status, _, err = images(launch, *words)
        assert (status, f"error[image-unusable]: {said}" in err, "--> ./site.toml:1" in err) == (4, True, True)
    assert images(launch, "lock", "i0")[0] == 0


def test_du_and_prune(launch: Program) -> None:
    for name in ("i0", "i1", "i2"):
        assert images(launch, "ensure", name)[0] == 0
    shown = json.loads(images(launch, "du", "--json")[1])
    assert [each["arch"] for each in shown["files"]] == ["x86_64"] * 3
    status, out, err = images(launch, "du")
    assert (status, out.count(".sqsh")) == (0, 3)
    assert err.startswith("3 files, ")
    for age, each in enumerate(shown["files"]):
        path = Path(each["path"]).with_suffix(".json")
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    (launch.home / "store" / ".i9-x.part").write_bytes(b"x")
    assert images(launch, "du")[2].splitlines()[1].startswith("1 B more are of what is under way, or was cut short")
    assert images(launch, "prune", "--max-size", "1M", "--dry-run")[1].count("\n") == 1
    assert images(launch, "prune", "--max-size", "1")[0] == 2
    # Files of other clusters count by size alone: the one used least recently goes first.
    (launch.home / "store" / "big-0.sqsh").write_bytes(bytes(1 << 20))
    os.utime(launch.home / "store" / "big-0.sqsh", (1_600_000_000, 1_600_000_000))
    out = images(launch, "prune", "--max-size", "1M")[1]
    assert [Path(line).name for line in out.splitlines()] == [".i9-x.part", "big-0.sqsh"]
    assert images(launch, "lock", "i0", "i2")[0] == 0
    (launch.home / "store" / "big-1.sqsh").write_bytes(bytes(2 << 20))
    out = images(launch, "prune", "--max-size", "1M", "--keep-locked")[1]
    assert [Path(line).name[:3] for line in out.splitlines()] == ["i1-", "big"]
