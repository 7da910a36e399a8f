"""The journal: whole lines, also after a writer that was killed in the middle of one, and on a full disk."""

import datetime as dt
import json
from pathlib import Path

import pytest

from launcher.run.journal import Journal


def lines(run: Path) -> list[str]:
    return (run / "events.jsonl").read_text().splitlines()


def test_one_line_an_event(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.note("start", step="ü\n", argv=["a"])
    journal.note("end")
    first, second = map(json.loads, lines(tmp_path))
    assert {name: first[name] for name in ("event", "step", "argv")} == {"event": "start", "step": "ü\n", "argv": ["a"]}
    assert second["t"] >= first["t"]
    assert dt.datetime.fromisoformat(first["at"]).utcoffset() == dt.timedelta(0)


def test_a_torn_line_spoils_nothing(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "a"}\n{"eve')
    Journal(str(tmp_path)).note("b")
    assert [line[:5] for line in lines(tmp_path)] == ['{"eve', '{"eve', '{"t":']
    Journal(str(tmp_path)).note("c")
    assert json.loads(lines(tmp_path)[-1])["event"] == "c"
    assert len(lines(tmp_path)) == 4


def test_what_cannot_be_written_is_an_error_until_it_must_not_be(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").symlink_to("/dev/full")
    journal = Journal(str(tmp_path))
    with pytest.raises(OSError, match="No space left on device"):
        journal.note("a")
    journal.lenient = True
    journal.note("b")
    assert journal.lost == 2


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    Journal(str(tmp_path)).note("a")
    assert (tmp_path / "events.jsonl").stat().st_mode & 0o777 == 0o600
