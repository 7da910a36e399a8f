"""Aliases edited in files: where, whole or not at all, by one at a time."""

import os
import signal
import subprocess
import sys
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from launcher.execute.held import Held, held
from launcher.execute.images import aliases
from launcher.execute.images.aliases import Target
from launcher.execute.world import Real
from launcher.text.diagnostic import Refused

SITE = 'schema = 1\nname = "site"\nruntime = "pyxis"\n\n[images] # names\nold = "/old.sqsh"\n'


@pytest.fixture
def goal(tmp_path: Path) -> Target:
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    return Target(str(path), path, "site")


def quiet(text: str) -> None:
    raise AssertionError(text)


def test_a_hundred_edits_at_once_lose_none(goal: Target) -> None:
    def add(number: int) -> None:
        aliases.add(Real(), goal, f"i{number}", {"reference": f"/i/{number}.sqsh"}, lambda text: None)

    with ThreadPoolExecutor(max_workers=100) as pool:
        list(pool.map(add, range(100)))
    found = tomllib.loads(goal.file.read_text())["images"]
    assert found == {"old": "/old.sqsh", **{f"i{number}": f"/i/{number}.sqsh" for number in range(100)}}
    assert goal.file.read_text().startswith(SITE)


def test_a_link_stays_a_link_and_the_mode_stays(goal: Target, tmp_path: Path) -> None:
    goal.file.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(goal.file)
    aliases.add(Real(), Target(str(link), link, "site"), "new", {"reference": "/n.sqsh"}, quiet)
    assert link.is_symlink()
    assert "new" in goal.file.read_text()
    assert goal.file.stat().st_mode & 0o777 == 0o640


def test_what_would_break_the_file_is_not_written(goal: Target) -> None:
    wrong = (("new", "docker.io/Upper/x"), ("new", "./x.sqsh"), ("ne w", "/n.sqsh"), ("old", "/n.sqsh"))
    for alias, reference in wrong:
        with pytest.raises(Refused):
            aliases.add(Real(), goal, alias, {"reference": reference}, quiet)
    assert goal.file.read_text() == SITE


def test_the_lock_names_its_holder_and_goes_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom launcher.execute.held import held\n"
        "from launcher.execute.world import Real\n"
        "with held(Real(), Path(sys.argv[1]), 'importing x', 1.0):\n print('held', flush=True)\n time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, lock], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Held) as raised, held(Real(), lock, "x", 0.1):
            pass
        assert str(raised.value).startswith(f"process {holder.pid} of ")
        assert ", importing x for " in str(raised.value)
        assert os.uname().nodename in str(raised.value)
        said: list[str] = []
        killer = threading.Timer(1.2, holder.send_signal, [signal.SIGKILL])
        killer.start()
        with held(Real(), lock, "y", 30.0, said.append):
            pass
        assert [line.partition(" of ")[0] for line in said] == [f"waiting for process {holder.pid}"]
        killer.join()


def test_a_broken_or_read_only_file_is_left(goal: Target) -> None:
    goal.file.write_text("schema = 1\n[images\n")
    with pytest.raises(Refused):
        aliases.add(Real(), goal, "new", {"reference": "/n.sqsh"}, quiet)
    assert goal.file.read_text() == "schema = 1\n[images\n"
