"""Paths with `$USER` and `$HOME`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model import sitepath

KNOWN = {"USER": "ann", "HOME": "/home/ann"}
GOOD = [
    ("/", "/"),
    ("/a b/ü", "/a b/ü"),
    ("/lustre/$USER/runs", "/lustre/ann/runs"),
    ("/lustre/${USER}2", "/lustre/ann2"),
    ("$HOME", "/home/ann"),
    ("${HOME}/runs", "/home/ann/runs"),
    ("/a/$USER.$USER", "/a/ann.ann"),
]
BAD = [
    "",
    "a",
    "~/a",
    "$USER/a",
    "$HOMEX",
    "/a/$USERS",
    "/$FOO",
    "/a,b",
    "/a:b",
    "/a`id`",
    '/a"b',
    "/a\\b",
    "/a\n",
    "/~",
]


@pytest.mark.parametrize(("path", "expected"), GOOD)
def test_expanded(path: str, expected: str) -> None:
    assert sitepath.expand(sitepath.test(path), KNOWN) == expected


@pytest.mark.parametrize("path", BAD)
def test_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"^must be an absolute path"):
        sitepath.test(path)


@given(st.text(st.sampled_from("$/{}USERHOMEa,")))
def test_nothing_is_left_to_a_shell(path: str) -> None:
    try:
        found = sitepath.expand(sitepath.test(path), KNOWN)
    except ValueError:
        return
    assert found.startswith("/")
    assert not set(found) & set('$`"\\,:\n')
