"""What a preamble did to the environment, as two looks at it tell."""

import pytest

from launcher.render.bake import exported, taken

BEFORE = b"A=1\0B=x=y\0SHLVL=1\0PS1=> \0LAUNCH__EACH=q\0"


@pytest.mark.parametrize(
    ("after", "found", "gone"),
    [
        (BEFORE, {}, []),
        (b"A=2\0B=x=y\0", {"A": "2"}, []),
        (b"B=x=y\0", {}, ["A"]),
        (b"A=1\0B=\0", {"B": ""}, []),
        (b"A=1\0B=x=y\0NEW=two\nlines=3\0SHLVL=2\0PWD=/x\0_=z\0", {"NEW": "two\nlines=3"}, []),
        (b"A=1\0B=x=y\0broken\0LAUNCH__GIVEN_T=1\0", {}, []),
        (b"A=\xff\0B=x=y\0", {"A": "\udcff"}, []),
    ],
)
def test_what_a_preamble_exported(after: bytes, found: dict[str, str], gone: list[str]) -> None:
    assert dict(exported(BEFORE, after)) == found
    assert taken(BEFORE, after) == gone
