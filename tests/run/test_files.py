"""Files written whole or not at all."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.run import files
from launcher.run.script import File


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o177])
def test_mode_is_as_asked_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        files.write(str(tmp_path / "a"), b"x", 0o750)
        files.write(str(tmp_path / "b"), b"x")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o7777 for name in "ab"] == [0o750, 0o600]


def test_parents_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    files.write(str(tmp_path / "a/b/c"), b"1")
    files.write(str(tmp_path / "a/b/c"), b"2")
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["a", "a/b", "a/b/c"]
    assert (tmp_path / "a/b/c").read_bytes() == b"2"


def test_a_reader_never_sees_half(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.write(str(path), b"old")
    with path.open("rb") as reader:
        files.write(str(path), b"new and longer")
        assert reader.read() == b"old"


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "in the way").touch()
    with pytest.raises(OSError, match="directory"):
        files.write(str(tmp_path / "a"), b"x")
    assert (tmp_path / "a" / "in the way").exists()


def test_filling_uses_the_bytes_kept(tmp_path: Path) -> None:
    files.write_all(files.reserved(str(tmp_path)))
    kept, path = str(tmp_path / files.STOP_RESERVE), tmp_path / "a"
    assert [(tmp_path / name).stat().st_size for name in (files.OUTCOME_RESERVE, files.STOP_RESERVE)] == [32768, 4096]
    assert Path(kept).stat().st_blocks > 0
    number = Path(kept).stat().st_ino
    files.fill(kept, str(path), b"short")
    assert (path.read_bytes(), path.stat().st_ino) == (b"short", number)
    files.fill(kept, str(path), b"anew")
    assert path.read_bytes() == b"anew"


def test_many_appear_in_order_and_leave_nothing_half_made(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "in the way").touch()
    wanted = [(str(tmp_path / name), name.encode(), 0o640) for name in ("b/a", "a", "c", "d")]
    with pytest.raises(OSError, match="directory"):
        files.write_all(wanted)
    # In order, up to the one that cannot be; nothing half made stays.
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "a",
        "b",
        "b/a",
        "c",
        "c/in the way",
    ]
    (tmp_path / "c" / "in the way").unlink()
    (tmp_path / "c").rmdir()
    files.write_all(wanted)
    assert [Path(path).read_bytes() for path, _, _ in wanted] == [content for _, content, _ in wanted]
    assert {Path(path).stat().st_mode & 0o7777 for path, _, _ in wanted} == {0o640}


@given(st.text(st.characters(exclude_characters="\0")))
def test_text_is_carried_to_the_byte(text: str) -> None:
    try:
        wanted = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return
    assert files.encode(File("a", text)) == wanted


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(), st.lists, max_leaves=5))
def test_data_is_json(data: object) -> None:
    assert json.loads(files.encode(File("a", data=data)).decode("utf-8", "surrogatepass")) == data
