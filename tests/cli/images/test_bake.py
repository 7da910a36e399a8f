"""`launch images bake` by a real dockerd and podman's service: pushed to a real registry, without secrets."""

import json
import subprocess
import tarfile
import tomllib
from contextlib import closing
from io import BytesIO
from pathlib import Path

import docker
import httpx
import pytest

from tests.cli.program import Program
from tests.testbed import image, oci
from tests.testbed.bed import until
from tests.testbed.registry import Served

SECRET = "a-secret-of-the-shell"

RECIPE = """\
schema = 1
name = "r"

[roles.worker]
manifest = "sim"
image = "sim"

[roles.tool]
manifest = "tool"
env_from = ["TOKEN_OF_MINE"]
setup = '''
test -n "$TOKEN_OF_MINE"
echo baked >/baked
echo "$TOKEN_OF_MINE" | wc -c >/length
export PATH=/opt/baked:$PATH ODD='a "$b"'
'''
"""

SITE = 'schema = 1\nname = "site"\nruntime = "pyxis"\narch = "x86_64"\n'

TOOL = """\
schema = 1
name = "tool"
about = "a tool"
kind = "service"
adapter = "plain"
image = "tiny"

[program]
command = ["sleep", "1000"]
"""


@pytest.fixture(scope="module")
def served(served: Served) -> Served:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(image.root(image.TINY), ".")
    config = {"Entrypoint": ["/bin/entry", "x y"], "Cmd": ["c"], "User": "7", "Env": ["PATH=/usr/bin:/bin"]}
    served.pusher.push("b/tiny", "1", oci.image([buffer.getvalue()], config=config))
    return served


def project(home: Path, served: Served, recipe: str = RECIPE, more: str = "") -> Program:
    """The program where there are a recipe with a preamble, and a cluster."""
    (home / "manifests").mkdir()
    (home / "manifests/tool.toml").write_text(TOOL)
    (home / "r.toml").write_text(recipe)
    tiny = f"{served.host}/b/tiny:1"
    (home / "site.toml").write_text(f'{SITE}{more}[images]\nsim = "{tiny}"\ntiny = "{tiny}"\n')
    return Program(home)


def test_baked_and_pushed(tmp_path: Path, served: Served, host: str) -> None:
    launch = project(tmp_path, served, more='[versions]\nenroot = "4.1.2"\n')
    file = tmp_path / "site.toml"
    env = {"DOCKER_HOST": host, "TOKEN_OF_MINE": SECRET}
    # An alias that is locked is locked again as what was pushed.
    assert launch("images", "lock", "tiny", "--cluster", "./site.toml").returncode == 0
    words = ("images", "bake", "r.toml", "--cluster", "./site.toml", "--push", goal(served, tmp_path), "--json")
    done = launch(*words, env=env, timeout=120)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["baked"]
    entry = tomllib.loads(file.read_text())["images"]["tiny"]
    assert (row["state"], entry["reference"], entry["baked"]["base"]) == (
        "baked",
        row["image"],
        f"{served.host}/b/tiny:1",
    )
    assert [each for each in entry["baked"]["env"] if each.startswith("ODD=")] == ['ODD=a "$b"']
    assert SECRET not in done.stdout + done.stderr + file.read_text()
    (locked,) = tomllib.loads((tmp_path / "launch.lock").read_text())["image"]
    assert locked["reference"] == row["image"]
    assert json.loads(launch(*words, env=env).stdout)["baked"][0]["state"] == "was baked before"

    assert launch("check", "r.toml", "--cluster", "./site.toml").returncode == 0
    shown = launch("render", "r.toml", "--cluster", "./site.toml").stdout
    assert row["image"].rpartition(":")[2] in shown
    assert "tool.sh" not in shown
    repository = goal(served, tmp_path).partition("/")[2]
    config, layers = pushed(f"http://{served.host}/v2/{repository}", row["image"].rpartition(":")[2])
    assert (config["Entrypoint"], config["Cmd"], config["User"]) == (["/bin/entry", "x y"], ["c"], "7")
    assert SECRET not in json.dumps(config)
    last = layers[-1]
    assert SECRET.encode() not in last
    names = subprocess.run(["tar", "-t"], input=last, capture_output=True, check=True).stdout.decode().split()
    assert {"baked", "length"} <= {name.lstrip("./") for name in names}
    assert not [name for name in names if "setup" in name]
    assert left(host) == set()


def goal(served: Served, home: Path) -> str:
    """A repository of the test's own."""
    return f"{served.host}/{home.name.replace('[', '-').replace(']', '')}"


def left(host: str) -> set[str]:
    """Names of containers and images of bakes that a daemon has."""
    with closing(docker.APIClient(host, version="auto")) as api:
        names = [name.lstrip("/") for each in api.containers(all=True) for name in each["Names"]]
        tags = [tag for each in api.images() for tag in each["RepoTags"] or ()]
    return {name for name in (*names, *tags) if "launch-baked" in name}


WAITS = f"""\
{RECIPE.partition("setup =")[0]}setup = '''
until [ "$TOKEN_OF_MINE" = {SECRET} ]; do sleep 0.05; done
'''
"""


@pytest.mark.parametrize("verb", ["bake", "prune"])
def test_what_a_killed_bake_leaves_goes_with_the_next(tmp_path: Path, served: Served, host: str, verb: str) -> None:
    launch = project(tmp_path, served, WAITS, f'[store]\npath = "{tmp_path}/store"\n')
    bake = ("images", "bake", "r.toml", "--cluster", "./site.toml", "--push", goal(served, tmp_path))
    env = {"DOCKER_HOST": host}
    with launch.start(*bake, env={**env, "TOKEN_OF_MINE": "is-waited-for"}) as began:
        (name,) = until(lambda: left(host) or None)
        # Whoever comes while it bakes leaves it alone.
        assert launch("images", "prune", "--cluster", "./site.toml", env=env).stdout == ""
        assert left(host) == {name}
        began.kill()
    assert left(host) == {name}
    if verb == "bake":
        done = launch(*bake, env={**env, "TOKEN_OF_MINE": SECRET}, timeout=120)
        assert (done.returncode, f"`{name}` of a bake that was killed" in done.stderr) == (0, True), done.stderr
    else:
        prune = ("images", "prune", "--cluster", "./site.toml")
        assert launch(*prune, "--dry-run", env=env).stdout == f"{name}\n"
        assert left(host) == {name}
        assert launch(*prune, env=env).stdout == f"{name}\n"
    assert left(host) == set()


def test_a_preamble_may_take_so_long(tmp_path: Path, served: Served, host: str) -> None:
    launch = project(tmp_path, served, WAITS)
    words = ("images", "bake", "r.toml", "--cluster", "./site.toml", "--push", goal(served, tmp_path))
    done = launch(*words, "--timeout", "1s", env={"DOCKER_HOST": host, "TOKEN_OF_MINE": "none"}, timeout=120)
    assert done.returncode == 4
    assert "error[bake-failed]: the preamble has not ended after 00:00:01, and was ended" in done.stderr
    assert "`--timeout` gives it longer" in done.stderr
    assert left(host) == set()
    done = launch(*words, "--timeout", "soon")
    assert (done.returncode, "`--timeout`: must be a duration, not `soon`" in done.stderr) == (2, True)


def pushed(base: str, tag: str) -> tuple[dict[str, object], list[bytes]]:
    """The configuration and layers, unpacked, of what was pushed."""
    types = "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json"
    manifest = httpx.get(f"{base}/manifests/{tag}", headers={"Accept": types}).json()
    config = httpx.get(f"{base}/blobs/{manifest['config']['digest']}").json()
    blobs = [httpx.get(f"{base}/blobs/{layer['digest']}").content for layer in manifest["layers"]]
    unpacked = [subprocess.run(["gunzip"], input=blob, capture_output=True, check=True).stdout for blob in blobs]
    return config["config"], unpacked


def test_a_failure_pushes_nothing(tmp_path: Path, served: Served, host: str) -> None:
    launch = project(tmp_path, served)
    before = (tmp_path / "site.toml").read_text()
    words = ("images", "bake", "r.toml", "--cluster", "./site.toml")
    encoded = "export X=$(echo user:$TOKEN_OF_MINE | base64)"
    env = {"DOCKER_HOST": host, "TOKEN_OF_MINE": SECRET}
    for preamble, said in (
        ("exit 3", "ended with exit code 3"),
        ("export X=x$TOKEN_OF_MINE", "exports `X`"),
        (encoded, "exports `X`"),
    ):
        text = RECIPE.partition("setup =")[0] + f"setup = '{preamble}'\n"
        (tmp_path / "r.toml").write_text(text)
        done = launch(*words, "--push", f"{served.host}/b/none", env=env, timeout=120)
        assert (done.returncode, said in done.stderr) == (4, True), done.stderr
        assert SECRET not in done.stderr
    assert (tmp_path / "site.toml").read_text() == before
    assert httpx.get(f"http://{served.host}/v2/b/none/tags/list").status_code == 404
    assert launch(*words, "--with", "docker").returncode == 2
    assert launch(*words, "--push", f"{served.host}/b/none:2").returncode == 2


LOCK = f"""\
schema = 1

[[image]]
cluster = "built"
alias = "tiny"
arch = "x86_64"
reference = "/images/tiny.sqsh"
size = 1
build = "{"0" * 64}"
base = "docker.io/library/python:3.12"
"""

TWICE = """
[roles.other]
manifest = "tool"
setup = "echo other"
"""


@pytest.mark.parametrize(
    ("images", "more", "status", "said"),
    [
        (
            'tiny = { build = "smg" }',
            "",
            3,
            "error[bake-built]: the image of `tool` is built from the definition `smg`",
        ),
        ('tiny = "/i/x.sqsh"', TWICE, 3, "error[bake-twice]: roles `tool` and `other` have the image alias `tiny`"),
        ('tiny = "dockerd://x"', "", 4, "error[bake-failed]: `dockerd://x` is in a daemon's store on the nodes"),
        ('tiny = "/nowhere/x.sqsh"', "", 4, "no compute node could be asked for `/nowhere/x.sqsh`"),
    ],
)
def test_what_cannot_be_baked(tmp_path: Path, images: str, more: str, status: int, said: str) -> None:
    launch = Program(tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/tool.toml").write_text(TOOL)
    (tmp_path / "r.toml").write_text(RECIPE + more)
    name = "built" if "build" in images else "site"
    (tmp_path / "site.toml").write_text(
        f'schema = 1\nname = "{name}"\nruntime = "pyxis"\narch = "x86_64"\n[store]\npath = "{tmp_path}/store"\n'
        f'[images]\nsim = "/i/sim.sqsh"\n{images}\n'
    )
    (tmp_path / "launch.lock").write_text(LOCK)
    done = launch("images", "bake", "r.toml", "--cluster", "./site.toml", env={"PATH": str(tmp_path)})
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
