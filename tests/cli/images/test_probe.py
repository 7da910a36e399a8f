"""`launch check --probe`: mistakes with images that people lost allocations to, named before anything is submitted."""

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
[router]
kind = "smg"
image = "router"
"""
SITE = """\
schema = 1
name = "site"
runtime = "{runtime}"
arch = "{arch}"
runs = "/tmp"
[images]
engine = "{engine}"
router = "{router}"
"""
OTHERS = ("pyxis-absent", "image-unlocked")
SHELL = [oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry("usr/bin/python3", b"#", mode=0o755)]


@pytest.fixture(scope="module")
def served(served: Served) -> Served:
    push = served.pusher.push
    push("p/good", "1", *[oci.image([SHELL], arch=arch) for arch in ("amd64", "arm64")])
    push("p/amd64", "1", oci.image([SHELL]))
    push("p/bare", "1", oci.image([[oci.Entry("epp", b"#", mode=0o755)]], arch="arm64"))
    return served


@pytest.fixture
def launch(tmp_path: Path) -> Program:
    """The real program, in a directory of its own."""
    return Program(tmp_path)


def probed(launch: Program, engine: str, router: str, runtime: str = "apptainer", arch: str = "aarch64") -> list[str]:
    """What is said of the two images."""
    (launch.home / "r.toml").write_text(RECIPE)
    (launch.home / "site.toml").write_text(SITE.format(runtime=runtime, arch=arch, engine=engine, router=router))
    done = launch("check", "r.toml", "--cluster", "./site.toml", "--probe", "--format", "concise")
    lines = [line for line in done.stdout.splitlines() if not any(code in line for code in OTHERS)]
    assert done.returncode == (4 if any("error[" in line for line in lines) else 5 if runtime == "pyxis" else 0), lines
    return lines


def test_images_of_a_registry(launch: Program, served: Served) -> None:
    host = served.host
    assert probed(launch, f"{host}/p/good:1", f"{host}/p/good:1") == []
    found = probed(launch, f"{host}/p/good:2", f"{host}/p/amd64:1")
    for_others = "the image of role `router` is for x86_64, and the nodes are aarch64"
    assert found == [
        f"./site.toml:7:10: error[image-absent]: `{host}` has no `p/good:2`",
        f"./site.toml:8:10: error[image-of-other-nodes]: {for_others}",
    ]
    (only,) = probed(launch, f"{host}/p/bare:1", f"{host}/p/good:1")
    assert "error[image-lacks-program]: the image of role `worker` has no shell" in only


def test_files(launch: Program) -> None:
    whole = image.squashfs(image.ENGINE)
    (launch.home / "cut.sqsh").write_bytes(whole.read_bytes()[:100_000])
    assert probed(launch, str(whole), str(whole), "pyxis", "x86_64") == []
    found = probed(launch, f"{launch.home}/cut.sqsh", str(image.squashfs(image.TINY)), "pyxis", "x86_64")
    assert len(found) == 2
    assert "./site.toml:7:10: error[image-absent]: `" in found[0]
    assert "cut.sqsh` is truncated: it has 100000 bytes of " in found[0]
    assert "error[image-lacks-program]: the image of role `router` has no program `python3`" in found[1]
    (launch.home / "text.sqsh").write_text("docker.io/vllm/vllm-openai\n")
    (launch.home / "lfs.sqsh").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    found = probed(launch, f"{launch.home}/text.sqsh", f"{launch.home}/lfs.sqsh", "pyxis", "x86_64")
    pointer = "is a pointer of Git LFS, not the file itself"
    assert found == [
        f"./site.toml:7:10: error[image-absent]: `{launch.home}/text.sqsh` is a text file",
        f"./site.toml:8:10: error[image-absent]: `{launch.home}/lfs.sqsh` {pointer}",
    ]
    found = probed(launch, f"{launch.home}/none.sqsh", str(image.squashfs(image.SHELLESS)), "pyxis", "x86_64")
    assert "none.sqsh` does not exist" in found[0]
    assert "error[image-lacks-program]: the image of role `router` has no shell" in found[1]


def test_nobody_to_ask_is_a_warning(launch: Program) -> None:
    found = probed(launch, "127.0.0.1:1/p/good:1", "127.0.0.1:1/p/other:1")
    assert ["warning[image-unseen]: `127.0.0.1:1` cannot be reached" in line for line in found] == [True, True]
    # Of one image once, whatever roles have it.
    assert len(probed(launch, "127.0.0.1:1/p/good:1", "127.0.0.1:1/p/good:1")) == 1
