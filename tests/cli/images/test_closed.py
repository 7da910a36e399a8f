"""The verbs of images against a registry behind a password: Docker's documents, two architectures, layers of zstd."""

import json
from pathlib import Path

import pytest

from launcher.execute.images import inspect
from tests.cli.program import Program
from tests.testbed import oci, registry
from tests.testbed.registry import PASSWORD, USER, Served

SHELL = [oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry("usr/bin/python3", b"#", mode=0o755)]
RECIPE = 'schema = 1\nname = "r"\n[roles.worker]\nmanifest = "sim"\nimage = "engine"\n'


@pytest.fixture
def launch(tmp_path: Path, closed: Served) -> Program:
    """The real program, with a recipe, a cluster, and no login."""
    images = [oci.image([SHELL], arch=arch, dialect="docker", compression="zstd") for arch in ("amd64", "arm64")]
    closed.pusher.push("z/engine", "1", *images, dialect="docker")
    (tmp_path / "r.toml").write_text(RECIPE)
    (tmp_path / "site.toml").write_text(
        f'schema = 1\nname = "site"\nruntime = "apptainer"\narch = "aarch64"\nruns = "/tmp"\n'
        f'[store]\npath = "{tmp_path}/store"\n[images]\nengine = "{closed.host}/z/engine:1"\n'
    )
    return Program(tmp_path)


def test_with_a_login_and_without(launch: Program, closed: Served) -> None:
    site = ("--cluster", "./site.toml")
    denied = launch("images", "lock", *site)
    assert (denied.returncode, "shows `" in denied.stderr) == (4, True)
    assert "to nobody without a login" in denied.stderr
    checked = launch("check", "r.toml", *site, "--probe", "--format", "concise")
    assert (checked.returncode, "error[image-absent]" in checked.stdout) == (4, True)
    (launch.home / "docker").mkdir()
    login = {"auths": {closed.host: {"username": USER, "password": PASSWORD}}}
    (launch.home / "docker/config.json").write_text(json.dumps(login))
    env = {"DOCKER_CONFIG": str(launch.home / "docker")}
    assert launch("images", "lock", *site, env=env).returncode == 0
    assert launch("images", "verify", *site, env=env).stderr == "all as locked\n"
    checked = launch("check", "r.toml", *site, "--probe", "--format", "concise", env=env)
    assert (checked.returncode, checked.stdout) == (0, "")
    text = (launch.home / "site.toml").read_text().replace('"apptainer"', '"pyxis"')
    (launch.home / "site.toml").write_text(text)
    done = launch("images", "pull", *site, env=env)
    assert done.returncode == 0, done.stderr
    (path,) = (launch.home / "store").glob("*.sqsh")
    assert inspect.file(path).header.compressor == "zstd"
    assert json.loads(path.with_suffix(".json").read_bytes())["arch"] == "aarch64"
    assert PASSWORD not in "".join(each.read_text() for each in launch.home.rglob("*.lock"))


def test_certificates_that_are_named(launch: Program, tmp_path: Path) -> None:
    """A registry of an authority of its own, told by `SSL_CERT_FILE`; and one that names nothing."""
    with registry.registry(tmp_path, tls=True) as own:
        words = ("images", "ensure", f"{own.host}/z/engine:1", "--cluster", "./site.toml")
        for file, said in (
            (tmp_path / "ca.crt", f"error[image-absent]: `{own.host}` has no `z/engine:1`"),
            (tmp_path / "none", f"error[image-unseen]: `{tmp_path}/none` has no certificate: no such file"),
            (tmp_path / "r.toml", f"error[image-unseen]: `{tmp_path}/r.toml` has no certificate: "),
        ):
            done = launch(*words, env={"SSL_CERT_FILE": str(file)})
            assert (done.returncode, said in done.stderr) == (4, True), done.stderr
