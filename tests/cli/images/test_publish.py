"""`launch images publish` and `launch images matrix --unless-in`, against a real registry."""

import json
from pathlib import Path

import pytest

from tests.cli.images.test_matrix import BOTH, ONE, definition
from tests.cli.program import Program
from tests.testbed import oci
from tests.testbed.registry import PASSWORD, USER, Served


@pytest.fixture
def launch(tmp_path: Path, closed: Served) -> Program:
    """The program in a project with two definitions, and a login for the registry."""
    definition(tmp_path, "router", BOTH)
    definition(tmp_path, "tools", ONE)
    (tmp_path / ".docker").mkdir()
    login = {"username": USER, "password": PASSWORD}
    (tmp_path / ".docker/config.json").write_text(json.dumps({"auths": {closed.host: login}}))
    return Program(tmp_path)


def jobs(launch: Program, *words: str) -> list[dict[str, str]]:
    done = launch("images", "matrix", *words)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)["images"]
    return found


def push(closed: Served, namespace: str, job: dict[str, str]) -> str:
    """An image as its job would have pushed it; returns the digest of its manifest."""
    arch = job["platform"].removeprefix("linux/")
    made = oci.image([[oci.Entry(job["image"])]], arch=arch)
    return closed.pusher.push(f"{namespace}/{job['image']}", job["tag"], made)


def test_a_channel(launch: Program, closed: Served) -> None:
    place = f"{closed.host}/a"
    every = jobs(launch)
    digests = {(job["image"], job["arch"]): push(closed, "a", job) for job in every}
    done = launch("images", "publish", "pr-7", "--in", place)
    assert done.returncode == 0, done.stderr
    references = done.stdout.splitlines()
    assert [line.partition("@")[0] for line in references] == [f"{place}/router:pr-7", f"{place}/tools:pr-7"]
    assert launch("images", "publish", "pr-7", "--in", place).stdout == done.stdout, "the same again"
    for arch in ("x86_64", "aarch64"):
        (launch.home / "site.toml").write_text(
            f'schema = 1\nname = "site"\nruntime = "apptainer"\narch = "{arch}"\nruns = "/tmp"\n'
            f'[images]\nrouter = "{place}/router:pr-7"\n'
        )
        done = launch("images", "lock", "--cluster", "./site.toml", "--lock", f"{arch}.lock")
        assert done.returncode == 0, done.stderr
        assert digests["router", arch] in (launch.home / f"{arch}.lock").read_text()
        assert references[0].partition("@")[2] in (launch.home / f"{arch}.lock").read_text()


def test_nothing_is_published_where_something_is_missing(launch: Program, closed: Served) -> None:
    place = f"{closed.host}/b"
    router, _, tools = jobs(launch)
    push(closed, "b", router)
    done = launch("images", "publish", "main", "--in", place)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.count("error[image-absent]: `") == 2
    assert f"`b/tools:{tools['tag']}`" in done.stderr
    assert launch("images", "ensure", f"{place}/router:main", "--arch", "x86_64", "--store", "s").returncode == 4
    push(closed, "b", tools)
    done = launch("images", "publish", "main", "tools", "--in", place)
    assert (done.returncode, done.stdout.startswith(f"{place}/tools:main@sha256:")) == (0, True)


def test_what_the_registry_has_is_not_built(launch: Program, closed: Served) -> None:
    place = f"{closed.host}/c"
    router, _, tools = jobs(launch)
    assert len(jobs(launch, "--unless-in", place)) == 3
    push(closed, "c", tools)
    push(closed, "c", router)
    assert [(job["image"], job["arch"]) for job in jobs(launch, "--unless-in", place)] == [("router", "aarch64")]
    done = launch("images", "matrix", "--unless-in", place, "--format", "names")
    assert (done.stdout, done.stderr) == ("router\n", "1 image to build\n")
    (launch.home / "images/tools/Containerfile").write_text("FROM scratch\n")
    assert {job["image"] for job in jobs(launch, "--unless-in", place)} == {"router", "tools"}
    done = launch("images", "matrix", "tools", "--unless-in", f"{closed.host}/nothing", env={"HOME": "/nowhere"})
    assert done.returncode == 0, "what nobody may see is not there: pushing tells more"
    assert "to nobody without a login" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["publish", "a b", "--in", "ghcr.io/x"], 2, "`a b` cannot be a tag"),
        (["publish", "main"], 2, "`--in` is missing"),
        (["publish", "main", "--in", "ghcr.io/Team"], 2, "repositories are in lower case"),
        (["publish", "main", "nope", "--in", "ghcr.io/x"], 2, "no image definition is named `nope`"),
        (["matrix", "--unless-in", "ghcr.io/Team"], 2, "`--unless-in`: "),
        (["matrix", "--unless-in", "127.0.0.1:1/x"], 4, "error[image-unseen]: `127.0.0.1:1` cannot be reached"),
        (["publish", "main", "--in", "127.0.0.1:1/x"], 4, "error[image-unseen]"),
    ],
)
def test_what_is_wrong(launch: Program, words: list[str], status: int, said: str) -> None:
    done = launch("images", *words)
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert said in done.stderr
