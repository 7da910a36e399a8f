"""`launch images build` of definitions that only copy files: from layers, without a daemon, into the store meant."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.images.project import TOOL, Place
from tests.testbed import oci
from tests.testbed.disk import disk


def test_layers_need_no_daemon(place: Place) -> None:
    images = [oci.image([[oci.Entry("app/tool", go.encode(), mode=0o755)]], arch=go) for go in ("amd64", "arm64")]
    place.served.pusher.push("b/tools", "2.0", *images)
    base = [oci.image([[oci.Entry("bin/sh", b"#", mode=0o755)]], arch=go) for go in ("amd64", "arm64")]
    place.served.pusher.push("b/base", "1", *base)
    text = TOOL.format(base=f"{place.served.host}/b/base:1").replace('"1.0"', '"2.0"')
    copy = f'\n[[copy]]\nfrom = "{place.served.host}/b/tools:${{TOOL_VERSION}}"\nsource = "/app/tool"\n'
    place.write("images/tool/image.toml", f'{text}{copy}target = "/usr/bin/tool"\n')
    lines = ["ARG BASE=none", "FROM tools AS tools", "FROM ${BASE}", "COPY --from=tools /app/tool /usr/bin/tool"]
    place.write("images/tool/Containerfile", "\n".join(lines))
    nowhere = {"DOCKER_HOST": "unix:///nonexistent/d.sock"}
    status, out, err = place.images("build tool --json", nowhere)
    assert status == 0, err
    (made,) = json.loads(out)["images"]
    assert (made["builder"], place.inside(made["file"], "usr/bin/tool")) == ("layers", "amd64")
    # For nodes of another kind, on this very machine; the same twice is the same.
    first, second = (
        json.loads(place.images(f"build tool --arch aarch64 --push {place.served.host}/b --again --json", nowhere)[1])
        for _ in range(2)
    )
    assert first["images"][0]["digest"] == second["images"][0]["digest"]
    assert place.inside(first["images"][0]["file"], "usr/bin/tool") == "arm64"
    # What was a reference can mean it, and a new alias; both are as they were locked at once.
    for before in ('tool = "docker.io/x/y:1"', ""):
        place.site(before)
        status, _, err = place.images("build tool --set", nowhere)
        assert status == 0, err
        alias = tomllib.loads((place.launch.home / "site.toml").read_text())["images"]["tool"]
        assert alias == {"reference": made["file"], "versions": {"tool": "2.0"}}
        assert [each["reference"] for each in place.lock()] == [made["file"]]
        assert [place.images(word)[0] for word in ("verify", "diff", "lock", "verify")] == [0] * 4
    status, _, err = place.images("build tool --with docker --again", nowhere)
    assert (status, "nothing answers as Docker does: unix:///nonexistent/d.sock" in err) == (4, True)


def test_what_a_registry_has_is_not_built_again(place: Place) -> None:
    place.only_copy()
    place.site('tool = { build = "tool" }', store=False)
    words = f"build tool --push {place.served.host}/kept --json"

    def built(more: str = "") -> tuple[object, ...]:
        status, out, err = place.images(f"{words} {more}")
        assert status == 0, err
        (made,) = json.loads(out)["images"]
        return tuple(made[key] for key in ("built", "reference", "digest", "base"))

    first, *rest = built()
    lock = place.lock()
    assert (first, lock[0]["reference"]) == (True, rest[0])
    # Another checkout of the project has no lock: it takes the same image, and writes the same of it.
    (place.launch.home / "launch.lock").unlink()
    assert built() == (False, *rest)
    assert place.lock() == lock
    assert built("--again")[0] is True
    # A tag that is there with another key is moved, also that of an alias that is locked.
    assert built("--tag main")[0] is True
    moved = built("--tag main --arg TOOL_VERSION=2 --set")
    assert (moved[0], place.lock()[0]["digest"]) == (True, moved[2])
    assert built("--tag main --arg TOOL_VERSION=2") == (False, *moved[1:])
    assert place.images("verify")[0] == 0


def test_a_store_that_is_named_has_the_file(place: Place) -> None:
    """Wherever the lock has one that was built of the same."""
    place.only_copy()
    (place.launch.home / "linked").symlink_to("my store")
    built = []
    for more in ("", "--store 'my store'", "--store linked", ""):
        status, out, err = place.images(f"build tool {more} --json")
        assert status == 0, err
        (made,) = json.loads(out)["images"]
        built.append((made["built"], Path(made["file"]).parent.name))
    assert built == [(True, "store"), (True, "my store"), (False, "my store"), (False, "my store")]
    assert [each["reference"] for each in place.lock()] == [made["file"]]


def test_a_disk_that_is_too_small_is_foreseen(place: Place) -> None:
    place.only_copy()
    with disk(place.launch.home / "store", "size=1m") as store:
        status, out, err = place.images("build tool")
        assert (status, out, "error[store-full]: `" in err) == (1, "", True)
        assert " MiB are wanted for `base:1` and what" in err
        assert "`launch images prune --max-size SIZE --cluster ./site.toml` makes room" in err
        assert list(store.iterdir()) == []
    place.site('tool = { build = "tool" }', store=False)
    with disk(place.launch.home / "tmp", "size=1m") as folder:
        status, out, err = place.images(f"build tool --push {place.served.host}/small", {"TMPDIR": str(folder)})
        assert (status, "error[store-full]: `" in err, "help: `TMPDIR` names a folder" in err) == (1, True, True)
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize("where", ["", "--push {host}/wheels"])
def test_other_wheels_are_another_image(place: Place, where: str) -> None:
    copy = f'[[copy]]\nfrom = "{place.base}"\nsource = "/bin/sh"\ntarget = "/usr/bin/tool"\n'
    place.write("images/tool/image.toml", TOOL.format(base=place.base) + copy)
    (place.launch.home / "images/tool/Containerfile").unlink()
    words = f"build tool {where.format(host=place.served.host)} --json"

    def built(more: str = "") -> tuple[bool, str | None]:
        status, out, err = place.images(f"{words} {more}")
        assert status == 0, err
        (made,) = json.loads(out)["images"]
        (locked,) = place.lock()
        assert (locked["build"], locked.get("wheels")) == (made["key"], made["wheels"])
        return made["built"], made["wheels"]

    place.write("wheels/a.whl", "a")
    assert built() == (True, None)
    fresh, first = built("--wheels wheels")
    assert fresh and first
    assert built("--wheels wheels") == (False, first)
    # Who names none takes what there is.
    assert built() == (False, first)
    assert place.images("lock")[0] == 0
    place.write("wheels/a.whl", "b")
    fresh, other = built("--wheels wheels")
    assert fresh and other not in (None, first)
