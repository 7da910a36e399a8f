"""`launch images matrix`: what CI builds, in projects under a real git."""

import json
import os
from pathlib import Path

import pytest

from launcher.cli.images import FORMATS
from launcher.images import matrix
from tests.cli.program import ROOT, Program
from tests.testbed.git import commit, git

BASE = '[base]\nreference = "docker.io/library/debian:12"\n'
BOTH = f'schema = 1\ndescription = "d"\narch = ["x86_64", "aarch64"]\n{BASE}'
ONE = BOTH.replace(', "aarch64"', "")


@pytest.fixture
def launch(tmp_path: Path) -> Program:
    """The program in a repository with two definitions, all of it committed."""
    made = Program(tmp_path)
    definition(tmp_path, "router", BOTH)
    definition(tmp_path, "tools", ONE)
    (tmp_path / "images/clusters").mkdir()
    (tmp_path / "images/clusters/site.toml").write_text("schema = 1\n")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    commit(tmp_path)
    return made


def definition(home: Path, name: str, text: str) -> None:
    folder = home / "images" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "image.toml").write_text(text)
    (folder / "Containerfile").write_text("ARG BASE\nFROM ${BASE}\n")


def jobs(launch: Program, *words: str) -> list[tuple[str, str]]:
    """(image, architecture) of a matrix."""
    done = launch("images", "matrix", *words)
    assert done.returncode == 0, done.stderr
    return [(each["image"], each["arch"]) for each in json.loads(done.stdout)["images"]]


ALL = [("router", "x86_64"), ("router", "aarch64"), ("tools", "x86_64")]


def test_all_of_a_project(launch: Program) -> None:
    assert jobs(launch) == ALL
    assert jobs(launch, "tools") == ALL[2:]
    assert jobs(launch, "tools", "--json") == ALL[2:]
    inner = Program(launch.home / "images/router")
    assert jobs(inner) == ALL
    assert ("smg", "aarch64") in jobs(launch, "smg"), "one of ours, by its name"
    found = json.loads(launch("images", "matrix").stdout)
    assert (found["schema"], found["since"], found["removed"]) == (1, None, [])
    assert found["images"][1]["platform"] == "linux/arm64"


def test_our_own_images() -> None:
    found = {image for image, _ in jobs(Program(ROOT))}
    assert {"smg", "sim", "llm-d", "envoy"} <= found


def test_nothing_changed(launch: Program) -> None:
    (launch.home / "README").write_text("1")
    (launch.home / "images/clusters/site.toml").write_text("schema = 2\n")
    (launch.home / "images/router/.hidden").write_text("")
    (launch.home / "images/router/__pycache__").mkdir()
    (launch.home / "images/router/__pycache__/x.pyc").write_text("")
    done = launch("images", "matrix", "--changed-since", "main")
    assert (done.returncode, done.stderr) == (0, "no image to build\n")
    found = json.loads(done.stdout)
    assert (found["images"], found["since"]) == ([], git(launch.home, "rev-parse", "HEAD"))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("edit", ALL[:2]),
        ("commit", ALL[:2]),
        ("new", ALL[:2]),
        ("mode", ALL[:2]),
        ("gone", ALL[:2]),
        ("added", [("fresh", "x86_64")]),
    ],
)
def test_what_counts_as_a_change(launch: Program, change: str, expected: list[tuple[str, str]]) -> None:
    first, folder = git(launch.home, "rev-parse", "HEAD"), launch.home / "images/router"
    before = keys(launch)
    if change == "added":
        definition(launch.home, "fresh", ONE)
    elif change == "new":
        (folder / "deep").mkdir()
        (folder / "deep/file").write_text("x")
    elif change == "mode":
        (folder / "Containerfile").chmod(0o755)
    elif change == "gone":
        (folder / "Containerfile").unlink()
    else:
        (folder / "Containerfile").write_text("FROM scratch\n")
    if change == "commit":
        commit(launch.home)
    assert jobs(launch, "--changed-since", first) == expected
    after = keys(launch)
    assert {job for job, key in after.items() if before.get(job) != key} == set(expected), "the keys tell the same"


def keys(launch: Program) -> dict[tuple[str, str], str]:
    found = json.loads(launch("images", "matrix").stdout)["images"]
    return {(each["image"], each["arch"]): each["key"] for each in found}


def test_keys_are_of_contents_alone(launch: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = Program(tmp_path_factory.mktemp("elsewhere"))
    definition(elsewhere.home, "router", BOTH)
    definition(elsewhere.home, "tools", ONE)
    os.utime(elsewhere.home / "images/tools/image.toml", (0, 0))
    assert keys(elsewhere) == keys(launch)
    assert len(set(keys(launch).values())) == 3


def test_renamed_and_deleted(launch: Program) -> None:
    git(launch.home, "mv", "images/router", "images/gate")
    (launch.home / "images/tools/image.toml").unlink()
    done = launch("images", "matrix", "--changed-since", "HEAD")
    found = json.loads(done.stdout)
    assert [each["image"] for each in found["images"]] == ["gate", "gate"]
    assert found["removed"] == ["router", "tools"]
    assert done.stderr == (
        "`router` is gone since `HEAD`: nothing is built, what was pushed stays\n"
        "`tools` is gone since `HEAD`: nothing is built, what was pushed stays\n"
        "1 image to build, 2 jobs\n"
    )


def test_named_ones_are_of_the_repository_or_not(launch: Program) -> None:
    since = ("--changed-since", "HEAD")
    assert jobs(launch, "router", "tools", *since) == []
    assert {name for name, _ in jobs(launch, "router", "smg", *since)} == {"smg"}


def test_documents_of_services(launch: Program) -> None:
    (launch.home / "images/tools/Containerfile").write_text("FROM scratch\n")
    since = ("--changed-since", "HEAD")
    key = keys(launch)["tools", "x86_64"]
    job = {"image": "tools", "arch": "x86_64", "platform": "linux/amd64", "key": key, "tag": key[:12]}
    out = launch("images", "matrix", *since, "--format", "github").stdout
    assert (json.loads(out), out.count("\n")) == ({"include": [job]}, 1), "a line, as $GITHUB_OUTPUT takes it"
    out = launch("images", "matrix", *since, "--format", "gitlab").stdout
    row = {**{name.upper(): value for name, value in job.items()}, "GOARCH": "amd64"}
    assert json.loads(out) == {"build": {"parallel": {"matrix": [row]}}}
    assert launch("images", "matrix", "--format", "names").stdout == "router\ntools\n"
    commit(launch.home)
    assert launch("images", "matrix", *since, "--format", "github").stdout == '{"include":[]}\n'
    assert launch("images", "matrix", *since, "--format", "names").stdout == ""
    out = launch("images", "matrix", *since, "--format", "gitlab").stdout
    assert json.loads(out) == {"build": {"rules": [{"when": "never"}]}}
    assert FORMATS == matrix.FORMATS


def test_no_git(launch: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A project need not be under git; only `--changed-since` asks it."""
    program = tmp_path_factory.mktemp("empty")
    assert jobs(launch) == ALL
    done = launch("images", "matrix", "--changed-since", "HEAD", env={"PATH": str(program)})
    assert done.returncode == 1
    assert "error[git-failed]: there is no program `git` on `PATH`" in done.stderr
    bare = Program(tmp_path_factory.mktemp("bare"))
    definition(bare.home, "tools", ONE)
    assert jobs(bare) == ALL[2:]
    done = bare("images", "matrix", "--changed-since", "HEAD")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error[no-repository]: `{bare.home}` is in no git repository" in done.stderr


def test_what_is_wrong(launch: Program) -> None:
    done = launch("images", "matrix", "--changed-since", "mian")
    assert (done.returncode, "error[unknown-revision]: git knows no revision `mian` here" in done.stderr) == (2, True)
    done = launch("images", "matrix", "tolls", "ruoter")
    assert done.returncode == 2
    assert done.stderr.count("error[unknown-definition]") == 2
    assert "did you mean `tools`?" in done.stderr
    (launch.home / "images/tools/image.toml").write_text(ONE.replace("description", "descripton"))
    assert jobs(launch, "router", "--changed-since", "HEAD") == [], "what is not built is not read"
    done = launch("images", "matrix", "--changed-since", "HEAD")
    assert (done.returncode, done.stdout) == (3, "")
    assert "images/tools/image.toml:2:1" in done.stderr


@pytest.mark.parametrize("name", ["Tools", "my tool", "a..b", "tool-", "-tool", "wörld", "a:b", "x" * 64, "a\nb"])
def test_one_that_is_called_as_no_image_can_be(launch: Program, name: str) -> None:
    """It is not left out: no job of CI would ever build it."""
    definition(launch.home, name, ONE)
    for words in ([], ["--changed-since", "HEAD"], ["--", name]):
        done = launch("images", "matrix", *words)
        assert (done.returncode, done.stdout) == (3, "")
        (line,) = (line for line in done.stderr.splitlines() if line.startswith("error["))
        assert line.startswith("error[misnamed-definition]: the definition `"), done.stderr
        assert "rename its folder: lower-case letters and digits" in done.stderr
    assert jobs(launch, "tools", "--changed-since", "HEAD") == [], "what is not asked for is not judged"
    (launch.home / "images" / name / "image.toml").unlink()
    assert jobs(launch) == ALL, "a folder of something else"


def test_a_project_without_images(tmp_path: Path) -> None:
    done = Program(tmp_path)("images", "matrix")
    assert (done.returncode, json.loads(done.stdout)["images"]) == (0, [])
    assert done.stderr == "no image\n"
