"""`.sqsh` files by `enroot import`. It is in no package registry: a stand-in takes its place, which really imports."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.images import inspect
from launcher.execute.images.failure import Failure
from launcher.execute.images.make import Maker
from launcher.execute.images.store import Store
from launcher.execute.images.transport import Limits
from launcher.execute.world import Real
from launcher.images import importing
from launcher.images.login import Login
from launcher.images.reference import Reference, parse
from tests.execute.images.clients import client, named
from tests.execute.images.flat import tree, unsquash
from tests.testbed import oci, plugin
from tests.testbed.oci import Entry
from tests.testbed.registry import PASSWORD, USER, Served

LAYERS = [
    [Entry("bin/sh", b"#", mode=0o755), Entry("a", b"1")],
    [Entry("a", b"2"), Entry("lib/x.py", b"x", mtime=1_600_000_000)],
]


def store(folder: Path, by: Any = "enroot", environ: Mapping[str, str] | None = None, **more: Any) -> Store:
    programs = folder.parent / "bin"
    programs.mkdir(exist_ok=True)
    if not (programs / "enroot").exists():
        (programs / "enroot").symlink_to(plugin.ENROOT)
    path = f"{programs}:{os.environ['PATH']}"
    world = Real({"PATH": path, "HOME": str(folder.parent / "home"), **(environ or {})})
    asked = client(world, Limits(tries=1))
    return Store(world, folder, asked, Maker(world, asked, by=by, **more))


def pushed(served: Served, name: str, *arches: str, dialect: Any = "docker") -> Reference:
    images = [
        oci.image(LAYERS, arch=arch, dialect=dialect, history=("a", "b")) for arch in arches or ("amd64", "arm64")
    ]
    served.pusher.push(name, "1", *images, dialect=dialect)
    return named(served.host, f"{name}:1")


@pytest.mark.parametrize("version", ["4.1.2", "3.5.0"])
@pytest.mark.parametrize("compressor", ["zstd", "gzip"])
def test_the_same_files_as_of_layers(served: Served, version: str, compressor: str, tmp_path: Path) -> None:
    # Without a type of manifest in its first request, docker-registry 2.8 shows enroot 3 no index.
    wanted = pushed(served, "e/two", *(("arm64",) if version == "3.5.0" else ()))
    told: list[str] = []
    environ = {"STAND_IN_ENROOT": version, "SOURCE_DATE_EPOCH": "0"}
    made = store(tmp_path / "s", environ=environ, compressor=compressor, progress=told.append)
    path = made.ensure(wanted, "aarch64")
    (stored,) = made.all()
    assert (stored.facts["with"], stored.facts["arch"]) == (f"enroot {version}", "aarch64")
    assert inspect.file(path).header.compressor == compressor
    assert sorted(each.suffix for each in path.parent.iterdir()) == [".json", ".lock", ".sqsh"]
    assert "e/two:1: [INFO] Creating squashfs filesystem..." in told
    unsquash(path, tmp_path / "theirs")
    unsquash(store(tmp_path / "t", "layers").ensure(wanted, "aarch64"), tmp_path / "ours")
    added = ("etc", "etc/environment", "etc/fstab", "etc/rc", "etc/rc.local")
    ours = {name: entry for name, entry in tree(tmp_path / "ours").items() if name not in added}
    assert ours == tree(tmp_path / "theirs")  # the times of files too: SOURCE_DATE_EPOCH would have set them


def test_a_login_that_enroot_does_not_have(closed: Served, tmp_path: Path) -> None:
    wanted = pushed(closed, "e/closed")
    with pytest.raises(Failure) as raised:
        store(tmp_path / "s").ensure(wanted, "x86_64")
    assert raised.value.kind == "denied"
    auth = f'{{"auths": {{"{closed.host}": {{"username": "{USER}", "password": "{PASSWORD}"}}}}}}'
    seen: list[tuple[str, int]] = []

    def look(line: str) -> None:
        if "Using credentials from file: " in line:
            path = Path(line.partition("file: ")[2])
            seen.append((path.read_text(), stat.S_IMODE(path.stat().st_mode)))

    made = store(tmp_path / "s", environ={"DOCKER_AUTH_CONFIG": auth}, progress=look)
    path = made.ensure(wanted, "x86_64")
    assert seen == [(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n", 0o600)]
    assert sorted(each.suffix for each in path.parent.iterdir()) == [".json", ".lock", ".sqsh"]


def test_a_login_of_enroot_s_own(closed: Served, tmp_path: Path) -> None:
    wanted = pushed(closed, "e/own")
    (tmp_path / "home/.config/enroot").mkdir(parents=True)
    own = tmp_path / "home/.config/enroot/.credentials"
    own.write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
    told: list[str] = []
    store(tmp_path / "s", progress=told.append).ensure(wanted, "x86_64")
    assert f"e/own:1: [INFO] Using credentials from file: {own}" in told


def test_what_is_left_of_another_is_no_hindrance(served: Served, tmp_path: Path) -> None:
    wanted = pushed(served, "e/left")
    made = store(tmp_path / "s")
    path, _ = made.found(wanted, "x86_64")
    path.parent.mkdir()
    (path.parent / f".{path.stem}.part").write_bytes(b"half")
    assert inspect.file(made.ensure(wanted, "x86_64"))


def test_refusals(served: Served, tmp_path: Path) -> None:
    hidden = pushed(served, "e/oci", dialect="oci")
    with pytest.raises(Failure) as raised:
        store(tmp_path / "s").ensure(hidden, "x86_64")
    assert (raised.value.kind, "hide OCI images" in str(raised.value.advice)) == ("absent", True)
    pinned = parse(f"{served.host}/e/oci@{store(tmp_path / 's').found(hidden, 'x86_64')[1].digest}")
    assert isinstance(pinned, Reference)
    with pytest.raises(Failure, match=r"enroot 3.5.0 takes no digests"):
        store(tmp_path / "s", environ={"STAND_IN_ENROOT": "3.5.0"}).ensure(pinned, "x86_64")
    (tmp_path / "bin" / "enroot").unlink()
    (tmp_path / "bin" / "enroot").symlink_to("/bin/false")
    with pytest.raises(Failure, match="there is no program `enroot`"):
        store(tmp_path / "s").ensure(hidden, "x86_64")
    assert not list((tmp_path / "s").glob("*.sqsh"))


MEANT = [
    (
        "[INFO] x\n[ERROR] URL https://r/v2/a/manifests/1 returned error code: 404 Not Found\n",
        "absent",
        "no such image",
    ),
    ("[ERROR] URL https://r/v2/a returned error code: 403 Forbidden\n", "denied", "is not allowed"),
    ("[INFO] Querying registry\n[INFO] Authenticating with user: <anonymous>\n", "denied", "anybody without a login"),
    ("[INFO] Authenticating with user: alice\n", "denied", "`alice`"),
    ("[ERROR] URL https://r/v2/a returned error code: 429 Too Many Requests\n", "limited", "too often"),
    ("[ERROR] URL https://r/v2/a returned error code: 503 Service Unavailable\n", "unreachable", "no answer"),
    ("curl: (7) Failed to connect to r port 443\n", "unreachable", "cannot reach"),
    ("Write failed because No space left on device\nFATAL ERROR: Failed to write\n", "full", "No space left"),
    ("[ERROR] Command not found: parallel\n", "faulty", "Command not found: parallel"),
    ("Checksum mismatch: 1234\n", "faulty", "something else"),
    ("", "faulty", "it said nothing"),
]


@pytest.mark.parametrize(("said", "kind", "means"), MEANT)
def test_what_its_words_mean(said: str, kind: str, means: str) -> None:
    found = importing.meaning(said)
    assert (found[0], means in found[1]) == (kind, True), found


def test_credentials() -> None:
    hub = parse("ubuntu:22.04")
    nvidia = parse("nvcr.io/nvidia/x:1")
    assert isinstance(hub, Reference) and isinstance(nvidia, Reference)
    login = Login("$oauthtoken", "a-b", "x")
    lines = importing.credentials(nvidia, "authn.nvidia.com", login).splitlines()
    assert [line.split()[1:4:2] for line in lines] == [["nvcr.io", "$oauthtoken"], ["authn.nvidia.com", "$oauthtoken"]]
    assert "machine auth.docker.io login u password p\n" in importing.credentials(hub, "", Login("u", "p", "x"))
    for bad in (Login("u", "$p", "x"), Login("u", "a b", "x"), Login("u", '"p', "x"), Login("u", "t", "x", token=True)):
        with pytest.raises(ValueError, match=r"^(the password in )?x ?"):
            importing.credentials(hub, "", bad)


@pytest.mark.parametrize(
    ("text", "version", "spelt"),
    [
        ("nvcr.io/nvidia/x:1", "4.0.1", "docker://nvcr.io#nvidia/x@sha256:0"),
        ("me@nvcr.io#nvidia/x:1", "3.5.0", "docker://me@nvcr.io#nvidia/x:1"),
        ("ubuntu", "3.5.0", "docker://registry-1.docker.io#library/ubuntu:latest"),
    ],
)
def test_spelling(text: str, version: str, spelt: str) -> None:
    wanted = parse(text)
    assert isinstance(wanted, Reference)
    assert importing.spelt(wanted, "sha256:0", version) == spelt
