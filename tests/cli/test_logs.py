"""Logs as they are read while they grow."""

from pathlib import Path

from launcher.cli.logs import Log


def test_lines_are_told_once_they_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    log = Log(path)
    assert list(log.lines()) == []
    path.write_bytes(b"one\ntw")
    assert list(log.lines()) == ["one"]
    for piece in (b"", b"o", b"\n\n\xff\nla", b"st"):
        with path.open("ab") as file:
            file.write(piece)
        found = list(log.lines())
        assert found == (["two", "", "\\xff"] if b"\n" in piece else [])
    assert list(log.rest()) == ["last"]
    assert list(log.rest()) == []


def test_last_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"{number}\n" for number in range(100)) + "end")
    log = Log(path)
    assert list(log.lines(last=2)) == ["98", "99"]
    assert list(log.rest()) == ["end"]
