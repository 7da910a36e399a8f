"""The lock: written, merged, compared, and what a runtime is told of it."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.images.locking import Entry, differences, locked, merged, without, written
from launcher.images.pin import moved, pinned
from launcher.model.facts import Image
from launcher.model.lock import Lock, LockedImage
from tests.jobs import cluster

A, B = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


def entry(alias: str = "vllm", **more: Any) -> LockedImage:
    data = {"cluster": "gb300", "alias": alias, "arch": "aarch64", "reference": "docker.io/a/b:1", "size": 7, **more}
    return LockedImage.model_validate(data)


TEXTS = st.text(max_size=8)
ENTRIES = st.builds(
    entry,
    st.sampled_from(["a", "b", "c.d-e"]),
    cluster=st.sampled_from(["x", "y"]),
    arch=st.sampled_from(["x86_64", "aarch64"]),
    env=st.dictionaries(TEXTS, TEXTS, max_size=3),
    entrypoint=st.lists(TEXTS, max_size=2),
    versions=st.dictionaries(TEXTS, TEXTS, max_size=2),
    user=TEXTS,
    digest=st.sampled_from([None, A]),
    mtime=st.sampled_from([None, 5]),
)


@given(st.lists(ENTRIES, max_size=5))
def test_what_is_written_is_read_again(entries: list[LockedImage]) -> None:
    lock = merged(None, entries)
    text = written(lock)
    assert Lock.model_validate(tomllib.loads(text)) == lock
    assert written(merged(lock, reversed(lock.image))) == text


def test_others_stay() -> None:
    lock = merged(None, [entry("a"), entry("b"), entry("a", cluster="other")])
    new = merged(lock, [entry("a", size=8)])
    assert [(each.cluster, each.alias, each.size) for each in new.image] == [
        ("gb300", "a", 8),
        ("gb300", "b", 7),
        ("other", "a", 7),
    ]
    assert [(each.cluster, each.alias) for each in without(new, "gb300", ["a"]).image] == [
        ("gb300", "b"),
        ("other", "a"),
    ]
    assert [each.cluster for each in without(new, "gb300").image] == ["other"]


def test_what_is_locked_of_an_image() -> None:
    image = Image(
        9, A, B, A, "aarch64", ("PATH=/x", "E=a=b"), ("vllm", "serve"), "/w", "app", ("bash",), True, (("vllm", "1"),)
    )
    found = locked(Entry("gb300", "vllm", "aarch64"), "r", image)
    assert (found.digest, found.manifest, found.config, found.size) == (A, B, A, 9)
    assert (found.env, found.programs) == ({"PATH": "/x", "E": "a=b"}, ["bash", "sh"])
    assert (found.entrypoint, found.user, found.workdir, found.versions) == (
        ["vllm", "serve"],
        "app",
        "/w",
        {"vllm": "1"},
    )


def test_differences() -> None:
    was = entry(digest=A, env={"A": "1", "B": "2"}, programs=["sh"], sha256="c" * 64)
    now = entry(digest=B, env={"B": "3", "C": "4"}, programs=["sh", "bash"])
    assert list(differences(was, now)) == [
        ("digest", A, B),
        ("env.A", "1", ""),
        ("env.B", "2", "3"),
        ("env.C", "", "4"),
        ("programs", "sh", "sh bash"),
    ]
    assert list(differences(was, was)) == []


@pytest.mark.parametrize(
    ("was", "now", "phrase"),
    [
        (entry(digest=A), Image(7, A), None),
        (entry(digest=A), Image(9, A), None),
        (entry(digest=A), Image(7, B), f"names {B} now, and {A} was locked"),
        (entry(mtime=5), Image(7, mtime=5), None),
        (entry(mtime=5), Image(8, mtime=5), "has 8 bytes now, and 7 were locked"),
        (entry(mtime=5), Image(7, mtime=6), "has been written anew since it was locked"),
        (entry(), Image(7, mtime=6), None),
    ],
)
def test_moved(was: LockedImage, now: Image, phrase: str | None) -> None:
    assert moved(was, now) == phrase


@pytest.mark.parametrize(
    ("site", "was", "told"),
    [
        ({"runtime": "pyxis", "versions": {"enroot": "4.1.2"}}, {"manifest": B}, f"docker://docker.io/a/b:1@{B}"),
        ({"runtime": "pyxis", "versions": {"enroot": "3.5.0"}}, {"manifest": B}, "docker.io/a/b:1"),
        ({"runtime": "pyxis"}, {"manifest": B}, "docker.io/a/b:1"),
        ({"runtime": "apptainer"}, {"manifest": B}, f"docker://docker.io/a/b:1@{B}"),
        ({"runtime": "apptainer"}, {}, "docker.io/a/b:1"),
        ({"runtime": "apptainer"}, {"reference": "/i/x.sif"}, "/i/x.sif"),
        ({"runtime": "apptainer"}, {"reference": "Upper/x", "manifest": B}, "Upper/x"),
    ],
)
def test_pinned(site: dict[str, Any], was: dict[str, Any], told: str) -> None:
    assert pinned(entry(**was), cluster(**site)) == told
