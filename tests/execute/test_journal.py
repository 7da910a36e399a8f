"""Run directories: where they are, what they hold, and how one is found."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.execute import journal
from launcher.execute.bundle import bundle
from launcher.execute.journal import Contents, Run, claim_stop, create, find, root, runs
from launcher.execute.world import Recording
from launcher.run import files, lock
from launcher.run.script import Child, Script, dump
from launcher.text.diagnostic import Refused

SCRIPT = Script("test", ("run", "ip0"), (Child("a", "a", ("true",)),))
CONTENTS = Contents(
    "test",
    '{"plan": "ü"}',
    SCRIPT,
    {"ip0": "127.0.0.1"},
    {"recipes/a.toml": "a = 1\r\n", "../../etc/b.toml": "b = 2\n", "<stdin>": "", "--set": "x", "b.toml": "b = 3\n"},
)


@pytest.fixture
def world(tmp_path: Path) -> Recording:
    return Recording({"XDG_STATE_HOME": str(tmp_path / "state")}, clock=1_785_571_200.0)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def refused(raised: pytest.ExceptionInfo[Refused]) -> tuple[int, str, str | None]:
    [finding] = raised.value.diagnostics
    return finding.exit, finding.message, finding.help


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/launch/runs"),
        ({"XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/launch/runs"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/launch/runs"),
        ({"HOME": "/h"}, "/h/.local/state/launch/runs"),
    ],
    ids=str,
)
def test_root(environ: dict[str, str], wanted: str) -> None:
    assert root(Recording(environ)) == Path(wanted)


def test_root_without_home() -> None:
    found = str(root(Recording({})))
    assert found.endswith(("/.local/state/launch/runs", f"/tmp/launch-{os.geteuid()}/runs"))


def test_everything_is_there_and_nobody_else_may_look(world: Recording) -> None:
    run = create(world, CONTENTS)
    assert run.path.parent == root(world)
    assert run.name.startswith("test-2026080") and len(run.name) == len("test-20260801-000000-ffff")
    written = {str(path.relative_to(run.path)): path for path in run.path.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in written.items() if not name.startswith(".")} == {
        "plan.json": '{"plan": "ü"}'.encode(),
        "script.json": dump(SCRIPT).encode(),
        "slots.json": json.dumps({"ip0": "127.0.0.1", "run": str(run.path)}).encode() + b"\n",
        "run.pyz": bundle(),
        "lock": lock.blank(),
        "recipe/0-a.toml": b"a = 1\r\n",
        "recipe/1-b.toml": b"b = 2\n",
        "recipe/2-stdin": b"",
        "recipe/3-set": b"x",
        "recipe/4-b.toml": b"b = 3\n",
    }
    assert written[files.OUTCOME_RESERVE].stat().st_size == files.OUTCOME_BYTES
    made = [run.path, run.path.parent, run.path.parent.parent, *run.path.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in written.values()} == {0o600}


@pytest.mark.usefixtures("umask")
def test_the_umask_changes_nothing(world: Recording) -> None:
    run = create(world, CONTENTS)
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700
    assert stat.S_IMODE((run.path / "run.pyz").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "start"), [("a b/../c", "a-b-..-c-2"), ("", "run-2"), ("ü", "run-2"), ("x" * 300, "x" * 100 + "-2")]
)
def test_any_name_makes_a_directory(world: Recording, name: str, start: str) -> None:
    run = create(world, Contents(name, "", SCRIPT, {}))
    assert run.path.parent == root(world)
    assert run.name.startswith(start)
    assert runs(world) == [run]


def test_what_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    world = Recording({"XDG_STATE_HOME": str(tmp_path / "file")})
    with pytest.raises(Refused) as raised:
        create(world, CONTENTS)
    assert refused(raised) == (
        1,
        f"the run directory cannot be made: `{tmp_path}/file/launch`: not a directory",
        "set `XDG_STATE_HOME` to a directory with room that you can write to",
    )
    assert runs(world) == []


def test_runs_are_in_the_order_they_were_made(world: Recording) -> None:
    made = [create(world, Contents(name, "", SCRIPT, {})) for name in ("z", "a", "m")]
    world.pause(60.0)
    made.append(create(world, Contents("b", "", SCRIPT, {})))
    for number, run in enumerate(made[:3]):
        os.utime(run.path / "plan.json", (number, number))
    where = root(world)
    (where / "no-run").mkdir()
    (where / "x-20260801-000000-zzzz").mkdir()
    (where / "file-20260801-000000-ffff").touch()
    assert runs(world) == made
    assert find(world) == find(world, "last") == made[-1]


def test_found_by_name_or_a_beginning_of_one(world: Recording) -> None:
    where = root(world)
    for name in ("quick-20260801-000000-0000", "quick-20260801-000000-0001", "quicker-20260801-000000-0002"):
        (where / name).mkdir(parents=True)
    assert find(world, "quicker").name == "quicker-20260801-000000-0002"
    assert find(world, "quick-20260801-000000-0001").name == "quick-20260801-000000-0001"
    with pytest.raises(Refused) as raised:
        find(world, "quick")
    status, message, _ = refused(raised)
    assert status == 2
    assert message.startswith("`quick` is the beginning of 3 runs: `quick-20260801-000000-0000`, ")
    held = lock.take(str(where / "quick-20260801-000000-0001"))
    assert find(world, "quick").name == "quick-20260801-000000-0001", "the one that lives"
    os.close(held)
    with pytest.raises(Refused) as raised:
        find(world, "quicker-20260801-000000-0003")
    assert refused(raised)[0::2] == (2, "did you mean `quicker-20260801-000000-0002`?")


def test_no_runs(world: Recording) -> None:
    with pytest.raises(Refused) as raised:
        find(world)
    assert refused(raised)[:2] == (2, f"there are no runs in `{root(world)}`")


def test_script(world: Recording) -> None:
    run = create(world, CONTENTS)
    assert journal.script(run) == SCRIPT
    (run.path / "script.json").write_text('{"schema": 2}')
    with pytest.raises(Refused) as raised:
        journal.script(run)
    assert refused(raised)[:2] == (1, f"`{run.path}/script.json` cannot be read: not a script of schema 1")


def test_the_first_who_asks_for_the_stop_is_noted(world: Recording) -> None:
    run = create(world, CONTENTS)
    assert claim_stop(run, "down")
    assert not claim_stop(run, "SIGINT")
    assert json.loads((run.path / "stop.json").read_text()) == {"by": "down"}
    (run.path / "stop.json").unlink()
    # The bytes kept for it are gone: somebody is about to write it.
    assert not claim_stop(run, "SIGINT")


def test_a_run_directory_that_is_gone_cannot_be_stopped_twice(tmp_path: Path) -> None:
    assert not claim_stop(Run(tmp_path / "gone"), "down")
