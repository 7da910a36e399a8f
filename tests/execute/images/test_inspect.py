"""Image files and what is put in their place; real ones, made on the spot."""

import subprocess
from pathlib import Path

import pytest

from launcher.execute.images import sif
from launcher.execute.images.failure import Failure
from launcher.execute.images.inspect import inspect
from launcher.execute.world import Real
from launcher.images.header import machine
from tests.testbed import apptainer, image, oci


@pytest.fixture(scope="module")
def tiny() -> Path:
    return image.squashfs(image.TINY)


AGAIN, MAKE = "import it again", "importing what a registry has"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def spoilt(whole: bytes) -> dict[str, tuple[bytes, str, str]]:
    """Name → what lies there and what is said of it."""
    return {
        "half.sqsh": (whole[: len(whole) // 2], "is truncated: it has ", AGAIN),
        "nearly.sqsh": (whole[:-4097], "is truncated: it has ", AGAIN),
        "start.sqsh": (whole[:50], "is truncated: it ends after 50 bytes", AGAIN),
        "text.sqsh": (b"docker.io/vllm/vllm-openai\n", "is a text file", MAKE),
        "pointer.sqsh": (POINTER, "is a pointer of Git LFS, not the file itself", "`git lfs pull` fetches it"),
        "empty.sqsh": (b"", "is empty", AGAIN),
        "zeros.sqsh": (bytes(70000), "begins with nothing but zeros", AGAIN),
        "saved.sqsh": (b"\x1f\x8b\x08" + bytes(500), "is a gzip archive", "`docker push` it"),
        "page.sqsh": (b"<!DOCTYPE html><html>", "is a web page", MAKE),
        "binary.sqsh": (bytes(range(255, 0, -1)) * 9, "is neither a squashfs image nor a SIF", MAKE),
        "odd.sqsh": (whole[:12] + b"\xff" * 84 + whole[96:], "is squashfs 65535.65535", MAKE),
        "lost.sqsh": (whole[:20] + b"\x63" + whole[21:], "goes on as none", MAKE),
    }


def test_what_is_no_whole_image_is_named(tiny: Path, tmp_path: Path) -> None:
    for name, (content, said, advice) in spoilt(tiny.read_bytes()).items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(Failure) as raised:
            inspect(Real(), path)
        assert raised.value.kind == "faulty"
        assert (said in raised.value.message, advice in str(raised.value.advice)) == (True, True), name
        assert str(path) in raised.value.message


def test_what_is_not_there_or_no_file(tmp_path: Path) -> None:
    (tmp_path / "vllm.sqsh").touch()
    with pytest.raises(Failure, match="does not exist") as raised:
        inspect(Real(), tmp_path / "vlm.sqsh")
    assert (raised.value.kind, raised.value.advice) == ("absent", f"`{tmp_path}` has `vllm.sqsh`")
    with pytest.raises(Failure, match="is a folder") as raised:
        inspect(Real(), tmp_path)
    assert "`apptainer build FILE.sif FOLDER`" in str(raised.value.advice)


def test_a_look_into_a_squashfs(tiny: Path) -> None:
    found = inspect(Real(), tiny, ("bash", "greet", "nope", "/usr/bin/sh"))
    assert found.arch == host()
    assert found.programs == ("bash", "greet", "/usr/bin/sh")  # `greet` is in a folder of the image's own PATH
    assert found.shell
    assert "COMMON=from-image" in found.env
    assert found.size == tiny.stat().st_size


def test_versions_by_what_pip_leaves() -> None:
    found = inspect(Real(), image.squashfs(image.ENGINE), ("python3",), ("pip", "vllm"))
    assert [name for name, _ in found.versions] == ["pip"]
    assert found.programs == ("python3",)


def test_packages_of_an_environment_that_the_images_path_names(tmp_path: Path) -> None:
    root = tmp_path / "root"
    installed = root / "app/.venv/lib/python3.12/site-packages"
    for name in ("smg_grpc_proto-0.4.28", "pyzmq-27.0.1"):
        (installed / f"{name}.dist-info").mkdir(parents=True)
        (installed / f"{name}.dist-info/METADATA").touch()
    (root / "etc").mkdir()
    (root / "etc/environment").write_text("PATH=/app/.venv/bin:/usr/bin:/bin\n", encoding="utf-8")
    subprocess.run(["mksquashfs", root, tmp_path / "a.sqsh", "-no-progress", "-quiet"], check=True)
    found = inspect(Real(), tmp_path / "a.sqsh", ("python3",), ("grpcio-health-checking", "pyzmq", "smg-grpc-proto"))
    assert found.versions == (("pyzmq", "27.0.1"), ("smg-grpc-proto", "0.4.28"))


def test_an_image_without_a_shell() -> None:
    found = inspect(Real(), image.squashfs(image.SHELLESS), ("sh", "env"))
    assert (found.shell, found.programs) == (False, ())


def test_a_sif(tmp_path: Path) -> None:
    whole = apptainer.sif(image.TINY)
    found = inspect(Real(), whole, ("bash", "greet"))
    assert (found.arch, found.shell, found.programs) == (host(), True, ("bash", "greet"))
    assert "COMMON=from-image" in found.env
    cut = tmp_path / "cut.sif"
    for size in (50, 5000, whole.stat().st_size - 5000):
        cut.write_bytes(whole.read_bytes()[:size])
        with pytest.raises(Failure, match="is truncated") as raised:
            inspect(Real(), cut)
        assert raised.value.advice == AGAIN


def test_a_sif_by_apptainer_where_nothing_else_reads_it(tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    config = {"Env": ["PATH=/opt/x:/bin", "COMMON=ours"], "Labels": {"a": "b"}}
    made = oci.image([[oci.Entry("bin/sh", b"#", mode=0o755)]], config=config)
    for digest, body in made.blobs.items():
        (layout / sif.BLOBS).mkdir(parents=True, exist_ok=True)
        (layout / sif.BLOBS / digest.removeprefix("sha256:")).write_bytes(body)
    sif.arrange(layout, (made.manifest, made.blobs[made.config]))
    program = apptainer.apptainer()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apptainer").symlink_to(program)
    world = Real({"PATH": f"{tmp_path}/bin", "HOME": str(tmp_path)})
    sif.build(Real({**world.environ, "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}), layout, tmp_path / "a.sif", "lz4")
    found = inspect(world, tmp_path / "a.sif", ("sh",))
    assert (found.shell, found.env) == (None, ("PATH=/opt/x:/bin", "COMMON=ours"))
    told = sif.inspect(world, tmp_path / "a.sif")
    assert told is not None
    assert told.labels["a"] == "b"
    assert told.labels["org.label-schema.usage.apptainer.version"] == "1.4.5"
    (tmp_path / "b.sif").write_text("no image")
    assert sif.inspect(world, tmp_path / "b.sif") is None
    assert sif.inspect(Real({"PATH": "/nonexistent"}), tmp_path / "a.sif") is None


def test_without_unsquashfs_the_header_tells_what_it_can(tiny: Path) -> None:
    found = inspect(Real({"PATH": "/nonexistent"}), tiny, ("bash",))
    assert (found.arch, found.programs, found.shell) == (None, None, None)
    assert found.size == tiny.stat().st_size


def test_links_out_of_an_image_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root" / "etc").mkdir(parents=True)
    (tmp_path / "root" / "etc" / "environment").symlink_to("/proc/self/environ")
    words = ["mksquashfs", str(tmp_path / "root"), str(tmp_path / "a.sqsh"), "-quiet", "-no-progress", "-comp", "gzip"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    assert inspect(Real(), tmp_path / "a.sqsh").env == ()


def host() -> str:
    """As `uname -m` has it."""
    return subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("start", "arch"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00", "x86_64"),
        (b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xb7\x00", "aarch64"),
        (b"\x7fELF\x02\x02\x01" + bytes(11) + b"\x00\x16", "s390x"),
        (b"#!/bin/sh\n", None),
        (b"\x7fELF", None),
    ],
)
def test_the_architecture_of_a_program(start: bytes, arch: str | None) -> None:
    assert machine(start) == arch
