"""Images put together from layers: what is copied, for every architecture, the same bytes each time, and pushed."""

import json
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.execute.images.assemble import Assembly
from launcher.execute.images.build import workplace
from launcher.execute.images.built import Built
from launcher.execute.images.failure import Failure
from launcher.execute.images.logins import Logins
from launcher.execute.images.make import Maker
from launcher.execute.images.push import Push
from launcher.execute.images.registry import Registry
from launcher.execute.images.store import Store
from launcher.execute.images.transport import Transport
from launcher.execute.world import Real
from launcher.images.reference import Reference
from tests.execute.images.clients import client, named
from tests.testbed import oci
from tests.testbed.disk import disk, fill
from tests.testbed.oci import Entry, folder, hard, symlink
from tests.testbed.registry import PASSWORD, USER, Served, proxy

Builder = Callable[..., Built]
ARCHES = {"x86_64": "amd64", "aarch64": "arm64"}


@pytest.fixture
def asked() -> Registry:
    return client(Real({}))


@pytest.fixture
def build(served: Served, asked: Registry, tmp_path: Path) -> Builder:
    """Puts together an image on a base with a shell, in a folder of its own each time."""
    base = [
        [folder("usr"), folder("usr/bin"), Entry("usr/bin/sh", b"#", mode=0o755), symlink("bin", "usr/bin")],
        [folder("tmp", mode=0o1777), symlink("opt", "/usr/share")],
    ]
    served.pusher.push(
        "a/base", "1", *(oci.image(base, arch=go, config={"Env": ["A=1"]}, history=("", "")) for go in ARCHES.values())
    )
    count = iter(range(100))

    def made(*copies: tuple[str, str, str], arch: str = "x86_64") -> Built:
        place = tmp_path / f"work{next(count)}"
        wanted = named(served.host, "a/base:1")
        return Assembly(asked, place, arch).build((wanted, asked.image(wanted, arch)), copies, {"l": "1"})

    return made


def tools(served: Served, *layers: list[Entry]) -> str:
    """An image without a shell, of both architectures, whose program says for which it is."""
    images = [
        oci.image([[folder("app"), Entry("app/tool", go.encode(), mode=0o755)], *layers], arch=go)
        for go in ARCHES.values()
    ]
    served.pusher.push("a/tools", "1", *images)
    return f"{served.host}/a/tools:1"


def last(built: Built) -> dict[str, tuple[bytes, int, bytes]]:
    """The members of the last layer: kind, mode, content."""
    path = built.blob(built.remote.manifest.layers[-1].digest)
    with tarfile.open(path) as archive:
        found = {}
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            found[member.name] = (member.type, member.mode, content.read() if content else b"")
        return found


@pytest.mark.parametrize("arch", ARCHES)
def test_a_program_for_each_architecture(build: Builder, served: Served, arch: str) -> None:
    built = build((tools(served), "/app/tool", "/usr/local/bin/tool"), arch=arch)
    assert built.remote.config.arch == arch
    assert (built.remote.config.env, dict(built.remote.config.labels)) == (("A=1",), {"l": "1"})
    assert last(built) == {
        "usr/local": (tarfile.DIRTYPE, 0o755, b""),
        "usr/local/bin": (tarfile.DIRTYPE, 0o755, b""),
        "usr/local/bin/tool": (tarfile.REGTYPE, 0o755, ARCHES[arch].encode()),
    }


@pytest.mark.parametrize("when", ["fetching", "copying"])
def test_a_disk_that_is_full_in_the_middle(served: Served, asked: Registry, tmp_path: Path, when: str) -> None:
    tool = (tools(served, [Entry("big", os.urandom(1 << 20))]), "/big", "/big")
    wanted = named(served.host, "a/tools:1")
    with disk(tmp_path / "disk", "size=16m") as folder:
        store = Store(Real(), folder, asked, Maker(Real(), asked), option="--cluster c")
        told = [] if when == "copying" else [""]

        def fill_up(text: str) -> None:
            told.append(text)
            if len(told) == 2:
                fill(folder)

        full = pytest.raises(Failure, match=r"has no room left: .*no space left")
        with full as raised, workplace(Real(), store) as work:
            Assembly(asked, work, "x86_64", fill_up).build((wanted, asked.image(wanted, "x86_64")), [tool], {})
        assert (raised.value.kind, raised.value.advice) == (
            "full",
            "`launch images prune --max-size SIZE --cluster c` makes room",
        )
        assert [each.name for each in folder.iterdir()] == ["filler"]


def test_the_same_bytes_each_time(build: Builder, served: Served) -> None:
    copy = (tools(served), "/app", "/tmp/app")
    one, other = build(copy), build(copy)
    assert one.documents == other.documents
    digest = one.remote.manifest.layers[-1].digest
    assert one.blob(digest).read_bytes() == other.blob(digest).read_bytes()
    said = json.loads(one.documents[1])["history"][-1]["created_by"]
    assert said.startswith(f"COPY --from={copy[0]}@sha256:") and said.endswith(" /app /tmp/app")


def test_links_are_followed_inside_the_root(build: Builder, served: Served) -> None:
    upper = [
        symlink("current", "/app"),
        symlink("app/link", "../app/tool"),
        hard("app/twin", "app/tool"),
        Entry("app/.wh.old"),
    ]
    image = tools(served, [Entry("app/old", b"old")], upper)
    assert list(last(build((image, "/current/link", "/bin/tool")))) == ["usr/bin/tool"]
    found = last(build((image, "/app/twin", "/opt/twin")))
    assert found["usr/share/twin"] == (tarfile.REGTYPE, 0o755, b"amd64")
    found = last(build((image, "/current", "/srv/app")))
    assert sorted(found) == ["srv", "srv/app", "srv/app/link", "srv/app/tool", "srv/app/twin"]
    assert (found["srv/app/link"][0], found["srv/app/twin"][2]) == (tarfile.SYMTYPE, b"amd64")


def test_what_is_not_there_is_named(build: Builder, served: Served) -> None:
    image = tools(served)
    with pytest.raises(Failure, match="has no `/app/none`") as failure:
        build((image, "/app/none", "/bin/tool"))
    assert failure.value.kind == "absent"
    served.pusher.push("a/other", "1", oci.image([[Entry("a")]], arch="arm64"))
    with pytest.raises(Failure, match="is for aarch64, and x86_64 is wanted"):
        build((f"{served.host}/a/other:1", "/a", "/b"))


def test_a_file_of_the_store_has_it(build: Builder, served: Served, asked: Registry, tmp_path: Path) -> None:
    copy = (tools(served), "/app/tool", "/usr/local/bin/tool")
    store = Store(Real(), tmp_path / "store", asked, Maker(Real(), asked))
    path = store.take(Reference("localhost", "launch/tool", "1"), build(copy))
    listed = subprocess.run(["unsquashfs", "-lls", path], capture_output=True, text=True, check=True).stdout
    assert {"squashfs-root/usr/local/bin/tool", "squashfs-root/usr/bin/sh"} <= set(listed.split())
    assert store.take(Reference("localhost", "launch/tool", "1"), build(copy)) == path
    assert [each.facts["reference"] for each in store.all()] == ["docker://localhost/launch/tool:1"]
    other = Store(Real(), tmp_path / "other", asked, Maker(Real(), asked)).take(
        Reference("localhost", "launch/tool", "1"), build(copy)
    )
    assert other.read_bytes() == path.read_bytes()


def test_pushed_and_had_again(build: Builder, served: Served, asked: Registry) -> None:
    built = build((tools(served), "/app/tool", "/usr/local/bin/tool"))
    goal = named(served.host, "a/made:1")
    push = Push(Transport(Real(), Logins({}), actions="pull,push"))
    assert push.image(goal, built) == built.remote.digest
    assert push.document(goal, built.documents[0], "1") == built.remote.digest
    # What is there already is not sent again.
    push.image(goal, built)
    push.close()
    found = asked.image(goal, "x86_64")
    assert (found.digest, found.config) == (built.remote.digest, built.remote.config)
    words = ["skopeo", "inspect", "--tls-verify=false", f"docker://{served.host}/a/made:1"]
    said = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert (said["Digest"], said["Labels"]) == (built.remote.digest, {"l": "1"})


def test_pushed_with_a_login_and_not_without(build: Builder, served: Served, closed: Served) -> None:
    built = build((tools(served), "/app/tool", "/bin/tool"))
    goal = named(closed.host, "a/made:1")
    login = {"APPTAINER_DOCKER_USERNAME": USER, "APPTAINER_DOCKER_PASSWORD": PASSWORD}
    for environ, fine in ((login, True), ({}, False)):
        push = Push(Transport(Real(), Logins(environ), actions="pull,push"))
        try:
            if fine:
                assert push.image(goal, built) == built.remote.digest
            else:
                with pytest.raises(Failure, match="written by you") as failure:
                    push.image(goal, built)
                assert failure.value.kind == "denied"
        finally:
            push.close()


def test_tokens_are_asked_for_writing(served: Served) -> None:
    with proxy(served.host) as between:
        between.bearer = True
        push = Push(Transport(Real(), Logins({}), actions="pull,push"))
        push.transport.given(named(between.host, "a/x:1"), "HEAD", "a/x/blobs/sha256:0", {})
        push.close()
        (token, *_) = [path for path in between.paths("GET") if path.startswith("/token")]
        assert "pull%2Cpush" in token
