"""Definitions of images: arguments, references, and the key that says whether anything changed."""

import pytest

from launcher.model.definition import FILE, Definition, find, pinned, read, unknown
from launcher.model.library import Folder
from launcher.model.linking import Linking
from launcher.text.parse import parse
from tests.model.shelf import Shelf, written

TEXT = """schema = 1
description = "a"
arch = ["x86_64"]
[base]
reference = "docker.io/library/base:${B}"
[args]
B = "1"
A = "2"
[programs]
a = "${A}-x"
[[copy]]
from = "r.io/a:${A}"
digest = "sha256:%s"
source = "/app/a"
target = "/usr/bin/a"
""" % ("0" * 64)


def made(text: str = TEXT, files: tuple[tuple[str, str], ...] = ((FILE, "0"),), **more: object) -> Definition:
    linking = Linking(Shelf({}))
    found = read(linking, Folder("a", parse(FILE, text), files), **more)  # type: ignore[arg-type]
    assert found is not None, linking.findings
    return found


def test_arguments_are_filled_in() -> None:
    found = made()
    assert (found.base, found.programs) == ("docker.io/library/base:1", {"a": "2-x"})
    assert found.copies == ((f"r.io/a:2@sha256:{'0' * 64}", "/app/a", "/usr/bin/a"),)
    other = made(args={"A": "3", "B": "9"})
    assert (other.base, other.programs) == ("docker.io/library/base:9", {"a": "3-x"})
    assert made(args={"BASE": "mine:1"}).base == "mine:1"


@pytest.mark.parametrize(
    ("reference", "digest", "shown"),
    [("a:1", None, "a:1"), ("a:1", "sha256:0", "a:1@sha256:0"), ("a@sha256:1", "sha256:0", "a@sha256:1")],
)
def test_a_digest_is_behind_its_reference(reference: str, digest: str | None, shown: str) -> None:
    assert pinned(reference, digest, {}) == shown


def test_all_that_counts_is_in_the_key() -> None:
    one = made().key("x86_64")
    assert one == made().key("x86_64")
    others = [
        made().key("aarch64"),
        made(files=((FILE, "1"),)).key("x86_64"),
        made(files=((FILE, "0"), ("b", "0"))).key("x86_64"),
        made(args={"A": "3"}).key("x86_64"),
        made(args={"BASE": "mine:1"}).key("x86_64"),
    ]
    assert len({one, *others}) == 6
    # An argument said as it is by default changes nothing.
    assert made(args={"A": "2"}).key("x86_64") == one


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("${A}-x", "${C}", f"unknown-argument {FILE}:10:5 `${{C}}` is none of the build arguments"),
        ("a:${A}", "a:${C}", f"unknown-argument {FILE}:12:8 `${{C}}` is none of the build arguments"),
        ("base:${B}", "base:${}", f"unknown-argument {FILE}:5:13 `${{}}` is none of the build arguments"),
        ('source = "/app/a"', 'source = "app/a"', f"wrong-value {FILE}:14:10 `source` cannot be a string like this"),
        ("schema = 1", "schema = 1\nbase_image = 1", f"unknown-key {FILE}:2:1 unknown key `base_image`"),
    ],
)
def test_what_is_wrong_has_its_place(old: str, new: str, said: str) -> None:
    linking = Linking(Shelf({}))
    assert read(linking, Folder("a", parse(FILE, TEXT.replace(old, new)), ())) is None
    assert [written(finding) for finding in linking.findings] == [said]


def test_one_that_is_not_there() -> None:
    linking = Linking(Shelf({}, images={"smg": TEXT}))
    assert find(linking, "smgg", None, command=True) is None
    assert [(finding.code, finding.help, finding.exit) for finding in linking.findings] == [
        ("unknown-definition", "did you mean `smg`?", 2)
    ]
    assert list(unknown({"C": "1", "A": "2"}, made().file)) == ["C"]
