"""`launch images lock|verify|diff` and `launch up --update-lock`, against a real registry and real files."""

import os
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.testbed import image, oci
from tests.testbed.registry import Served

RECIPE = """\
schema = 1
name = "r"
[roles.worker]
manifest = "sim"
image = "engine"
"""
SHELL = [oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry("usr/bin/python3", b"#", mode=0o755)]
ENV = {"Env": ["PATH=/usr/bin:/bin", "NVIDIA_REQUIRE_CUDA=cuda>=12.9"], "Entrypoint": ["python3"], "User": "app"}


@pytest.fixture
def launch(tmp_path: Path, served: Served) -> Program:
    """The real program, in a folder with a recipe and a cluster."""
    made = Program(tmp_path)
    (tmp_path / "r.toml").write_text(RECIPE)
    shutil.copy(image.squashfs(image.TINY), tmp_path / "tiny.sqsh")
    push(served, "one")
    site(made, f"{served.host}/l/engine:1")
    return made


def site(launch: Program, engine: str) -> None:
    """The cluster, whose alias `engine` means this."""
    (launch.home / "site.toml").write_text(
        'schema = 1\nname = "site"\nruntime = "apptainer"\narch = "x86_64"\nruns = "/tmp"\n'
        f'[images]\nengine = "{engine}"\n'
    )


def push(served: Served, user: str) -> str:
    images = [oci.image([SHELL], arch=arch, config={**ENV, "User": user}) for arch in ("amd64", "arm64")]
    return served.pusher.push("l/engine", "1", *images)


def lock(launch: Program, *words: str) -> tuple[int, str, str]:
    done = launch("images", *words, "--cluster", "./site.toml")
    return done.returncode, done.stdout, done.stderr


def check(launch: Program) -> tuple[int, str]:
    done = launch("check", "r.toml", "--cluster", "./site.toml", "--probe", "--format", "concise")
    return done.returncode, done.stdout


def test_a_tag_that_moves(launch: Program, served: Served) -> None:
    assert check(launch) == (0, "./site.toml:7:10: warning[image-unlocked]: not locked: `engine`\n")
    status, out, err = lock(launch, "lock")
    assert (status, err) == (0, "1 image of cluster `site` in `launch.lock`\n"), err
    (row,) = tomllib.loads((launch.home / "launch.lock").read_text())["image"]
    assert (row["alias"], row["arch"], row["user"], row["entrypoint"]) == ("engine", "x86_64", "one", ["python3"])
    assert row["manifest"][:19] in out
    assert row["programs"] == ["python3", "sh"]
    assert row["env"]["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.9"
    assert check(launch) == (0, "")
    assert lock(launch, "verify") == (0, "", "all as locked\n")
    assert lock(launch, "diff")[0] == 0

    plan = launch("plan", "r.toml", "--cluster", "./site.toml").stdout
    assert f"@{row['manifest']}" in plan

    moved = push(served, "two")
    status, out = check(launch)
    assert status == 4
    assert f"error[image-moved]: the image of role `worker` names {moved} now, and {row['digest']} was locked" in out
    status, out, _ = lock(launch, "diff")
    assert status == 1
    assert ["engine", "user", "one", "two"] in [line.split() for line in out.splitlines()]
    assert lock(launch, "verify")[0] == 4
    before = (launch.home / "launch.lock").read_text()
    done = launch("up", "r.toml", "--cluster", "./site.toml", "--dry-run", "--update-lock")
    assert done.returncode == 0, done.stderr
    assert "`engine` locked in `" in done.stderr
    assert (launch.home / "launch.lock").read_text() == before.replace(row["digest"], moved).replace(
        'user = "one"', 'user = "two"'
    ).replace(row["manifest"], _manifest(launch)).replace(row["config"], _config(launch))


def test_a_tag_that_goes(launch: Program, served: Served) -> None:
    """What was locked is named; this registry deletes by digest, which leaves nothing."""
    assert lock(launch, "lock")[0] == 0
    digest = _row(launch)["digest"]
    served.pusher.delete("l/engine", digest)
    status, out = check(launch)
    assert status == 4
    assert "error[image-absent]" in out
    assert "has no `l/engine:1`" in out
    told = launch("check", "r.toml", "--cluster", "./site.toml", "--probe").stdout
    named = f"{served.host}/l/engine@{digest}"
    assert f"the tag was there when it was locked: if it alone is gone, `launch images set engine {named} --" in told
    assert lock(launch, "verify")[0] == 4


def _row(launch: Program) -> dict[str, str]:
    found: dict[str, str] = tomllib.loads((launch.home / "launch.lock").read_text())["image"][0]
    return found


def _manifest(launch: Program) -> str:
    return _row(launch)["manifest"]


def _config(launch: Program) -> str:
    return _row(launch)["config"]


def test_an_alias_that_means_something_else(launch: Program, served: Served) -> None:
    push(served, "one")
    assert lock(launch, "lock", "engine")[0] == 0
    site(launch, f"{served.host}/l/engine:2")
    status, out = check(launch)
    assert status == 4
    assert "./site.toml:7:10: error[lock-stale]: image alias `engine` means something else than when it was" in out
    assert "did you mean" in lock(launch, "lock", "engin")[2]


def test_a_file_that_changes(launch: Program) -> None:
    path = launch.home / "tiny.sqsh"
    site(launch, str(path))
    (launch.home / "site.toml").write_text((launch.home / "site.toml").read_text().replace("apptainer", "pyxis"))
    assert lock(launch, "lock")[0] == 0
    assert lock(launch, "verify")[0] == 0
    content = path.read_bytes()
    path.write_bytes(content[:200_000] + bytes([content[200_000] ^ 1]) + content[200_001:])
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 2))  # the lock has whole seconds
    status, out, _ = lock(launch, "verify")
    assert (status, "sha256" in out) == (4, True)
    assert ["engine", "mtime"] in [line.split()[:2] for line in lock(launch, "diff")[1].splitlines()]
    assert "has been written anew since it was locked" in check(launch)[1]
    path.write_bytes(content)
    assert lock(launch, "verify")[0] == 0  # the same bytes, whenever they were written


@pytest.mark.parametrize("named", [(), ("engine",)])
def test_every_architecture_that_is_locked_is_verified(launch: Program, served: Served, named: tuple[str, ...]) -> None:
    host = served.host
    one, other = (oci.image([SHELL], arch=arch, config=ENV) for arch in ("amd64", "arm64"))
    served.pusher.push("l/x86", "1", one)
    served.pusher.push("l/arm", "1", other)
    both = f'{{ x86_64 = "{host}/l/x86:1", aarch64 = "{host}/l/arm:1" }}'
    (launch.home / "site.toml").write_text(
        f'schema = 1\nname = "site"\nruntime = "pyxis"\narch = "x86_64"\n[images]\nengine = {both}\n'
    )
    assert lock(launch, "lock")[2] == "2 images of cluster `site` in `launch.lock`\n"
    rows = tomllib.loads((launch.home / "launch.lock").read_text())["image"]
    assert [(row["arch"], row["manifest"]) for row in rows] == [("aarch64", other.digest), ("x86_64", one.digest)]
    assert lock(launch, "verify") == (0, "", "all as locked\n")
    moved = oci.image([SHELL], arch="arm64", config={**ENV, "User": "other"})
    served.pusher.push("l/arm", "1", moved)
    for verb, code in (("verify", 4), ("diff", 1)):
        status, out, _ = lock(launch, verb, "engine")
        assert (status, "x86_64" in out) == (code, False)
        assert ["engine", "(aarch64)", "user", "app", "other"] in [line.split() for line in out.splitlines()]
    assert check(launch)[0] in (0, 5)  # the cluster's own nodes are x86-64
    # An alias of one reference is no longer for the others.
    push(served, "one")
    site(launch, f"{host}/l/engine:1")
    assert lock(launch, "verify")[0] == 4
    assert lock(launch, "lock", *named)[0] == 0
    rows = tomllib.loads((launch.home / "launch.lock").read_text())["image"]
    assert [row["reference"].rpartition("/")[2] for row in rows] == ["engine:1"]
    assert lock(launch, "verify")[0] == 0


@pytest.mark.parametrize(
    ("host", "environ", "said"),
    [
        ("registry.invalid", {"LAUNCH_OFFLINE": "1"}, "`registry.invalid` is not asked: `LAUNCH_OFFLINE` is set"),
        ("127.0.0.1:1", {}, "`127.0.0.1:1` cannot be reached"),
    ],
)
def test_a_registry_that_does_not_tell_has_no_less(
    launch: Program, host: str, environ: dict[str, str], said: str
) -> None:
    """Nobody knows whether the image is there: the same words as of whoever fetches it."""
    site(launch, f"{host}/l/engine:1")
    store = str(launch.home / "store")
    verbs = ["lock"], ["ensure", "engine", "--store", store], ["pull", "engine", "--store", store]
    for words in verbs:
        done = launch("images", *words, "--cluster", "./site.toml", env=environ)
        lines = done.stderr.splitlines()
        assert [said in line for line in lines if line.startswith("error[")] == [True], done.stderr
        assert (done.returncode, "error[image-unseen]: " in done.stderr) == (4, True)
    assert not (launch.home / "launch.lock").exists()


def test_bash_that_is_not_known_of(launch: Program, served: Served) -> None:
    """It is said where a preamble is written for it, and nowhere else."""
    made = oci.image([SHELL], config=ENV, history=("RUN make everything",))
    served.pusher.push("l/made", "1", made)
    site(launch, f"{served.host}/l/made:1")
    file = launch.home / "site.toml"
    said = "`engine` is not known to have the `bash` that a preamble is written for: `launch images ensure engine"
    for setup, known in (("", True), ("export A=b", True), ("[[ -n $A ]]", False)):
        site(launch, f"{served.host}/l/made:1")
        file.write_text(file.read_text() + (f"[setup]\ninline = '{setup}'\n" if setup else ""))
        status, _, err = lock(launch, "lock")
        assert (status, "`bash`" not in err) == (0, known), err
    assert said in err
    site(launch, f"{launch.home}/tiny.sqsh")
    file.write_text(file.read_text() + "[setup]\ninline = 'source x'\n")
    assert "`bash`" not in lock(launch, "lock")[2]


def test_an_alias_of_any_letters(launch: Program) -> None:
    """As the cluster file takes it."""
    site(launch, f"{launch.home}/tiny.sqsh")
    path = launch.home / "site.toml"
    path.write_text(path.read_text().replace("engine =", '"wörld of x" ='))
    assert [lock(launch, word)[0] for word in ("lock", "verify", "diff", "ls")] == [0] * 4


def test_what_cannot_be_locked(launch: Program, served: Served) -> None:
    site(launch, f"{served.host}/l/engine:9")
    status, _, err = lock(launch, "lock")
    assert (status, "error[image-absent]" in err) == (4, True)
    assert not (launch.home / "launch.lock").exists()
    assert lock(launch, "verify")[0] == 2
    assert "is not locked in `launch.lock`" in lock(launch, "verify")[2]
