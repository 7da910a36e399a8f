"""`launch images bake` by a real dockerd: pushed to a real registry, without secrets."""

import json
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from tests.cli.program import Program
from tests.testbed import daemon, image, oci, registry
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
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(image.root(image.TINY), ".")
    config = {"Entrypoint": ["/bin/entry", "x y"], "Cmd": ["c"], "User": "7", "Env": ["PATH=/usr/bin:/bin"]}
    with registry.registry(tmp_path_factory.mktemp("registry")) as running:
        running.pusher.push("b/tiny", "1", oci.image([buffer.getvalue()], config=config))
        yield running


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "d").mkdir()
    with daemon.docker(tmp_path / "d") as where:
        yield where


def test_docker_bakes_and_pushes(tmp_path: Path, served: Served, host: str) -> None:
    launch = Program(tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/tool.toml").write_text(TOOL)
    (tmp_path / "r.toml").write_text(RECIPE)
    file = tmp_path / "site.toml"
    tiny = f"{served.host}/b/tiny:1"
    file.write_text(f'{SITE}[versions]\nenroot = "4.1.2"\n[images]\nsim = "{tiny}"\ntiny = "{tiny}"\n')
    env = {"DOCKER_HOST": host, "TOKEN_OF_MINE": SECRET}
    # An alias that is locked is locked again as what was pushed.
    assert launch("images", "lock", "tiny", "--cluster", "./site.toml").returncode == 0
    words = ("images", "bake", "r.toml", "--cluster", "./site.toml", "--push", f"{served.host}/b/baked", "--json")
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
    config, layers = pushed(f"http://{served.host}/v2/b/baked", row["image"].rpartition(":")[2])
    assert (config["Entrypoint"], config["Cmd"], config["User"]) == (["/bin/entry", "x y"], ["c"], "7")
    assert SECRET not in json.dumps(config)
    last = layers[-1]
    assert SECRET.encode() not in last
    names = subprocess.run(["tar", "-t"], input=last, capture_output=True, check=True).stdout.decode().split()
    assert {"baked", "length"} <= {name.lstrip("./") for name in names}
    assert not [name for name in names if "setup" in name]


def pushed(base: str, tag: str) -> tuple[dict[str, object], list[bytes]]:
    """The configuration and layers, unpacked, of what was pushed."""
    types = "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json"
    manifest = httpx.get(f"{base}/manifests/{tag}", headers={"Accept": types}).json()
    config = httpx.get(f"{base}/blobs/{manifest['config']['digest']}").json()
    blobs = [httpx.get(f"{base}/blobs/{layer['digest']}").content for layer in manifest["layers"]]
    unpacked = [subprocess.run(["gunzip"], input=blob, capture_output=True, check=True).stdout for blob in blobs]
    return config["config"], unpacked


def test_a_failure_pushes_nothing(tmp_path: Path, served: Served, host: str) -> None:
    launch = Program(tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/tool.toml").write_text(TOOL)
    (tmp_path / "site.toml").write_text(
        'schema = 1\nname = "site"\nruntime = "pyxis"\narch = "x86_64"\n'
        f'[images]\nsim = "{served.host}/b/tiny:1"\ntiny = "{served.host}/b/tiny:1"\n'
    )
    before = (tmp_path / "site.toml").read_text()
    words = ("images", "bake", "r.toml", "--cluster", "./site.toml")
    encoded = "export X=$(echo user:$TOKEN_OF_MINE | base64)"
    for preamble, said in (
        ("exit 3", "ended with exit code 3"),
        ("export X=x$TOKEN_OF_MINE", "exports `X`"),
        (encoded, "exports `X`"),
    ):
        text = RECIPE.partition("setup =")[0] + f"setup = '{preamble}'\n"
        (tmp_path / "r.toml").write_text(text)
        env = {"DOCKER_HOST": host, "TOKEN_OF_MINE": SECRET}
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
