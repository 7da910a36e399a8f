"""Run directories: one a run, made before anything starts, told from one another by name."""

import contextlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from launcher.execute.bundle import bundle, simulator
from launcher.execute.world import World
from launcher.roles import rehearsal
from launcher.run import account, files, lock, prepare
from launcher.run.script import SCHEMA, Budgets, Script, dump, load
from launcher.text import diagnostic
from launcher.text.diagnostic import Diagnostic, Place, Refused
from launcher.text.suggest import nearest

PLAN = "plan.json"
ARCHIVE = "run.pyz"
SOURCES = "recipe"
LAST = "last"

_NAME = re.compile(r".+-(?P<stamp>\d{8}-\d{6})-[0-9a-f]{4}")
_ATTEMPTS = 20


@dataclass(frozen=True)
class Run:
    """A run directory."""

    path: Path

    @property
    def name(self) -> str:
        """What people call the run: `quickstart-20260801-101500-3fa9`."""
        return self.path.name


@dataclass(frozen=True)
class Contents:
    """What a run directory holds before anything starts.

    `plan` is the text of `plan.json`; `slots` the late references that are known, `run` aside; `sources` the
    documents the run was made from, name → text. `more` gives further files by the path of the run directory, and
    `where` is the folder to make it in, by default `root`; `place` is where a document names it.
    """

    name: str
    plan: str
    script: Script
    slots: Mapping[str, str]
    sources: Mapping[str, str] = field(default_factory=dict)
    more: Callable[[Path], Mapping[str, bytes]] = lambda path: {}
    where: Path | None = None
    place: Place | None = None


def refusal(code: str, message: str, advice: str | None = None, status: int = 1) -> Refused:
    """An operation on a run that could not be done, as an exception to raise."""
    return diagnostic.refusal(code, message, advice, status)


def unreadable(path: Path, error: Exception) -> Refused:
    """A file of a run directory that cannot be read, as an exception to raise."""
    reason = str(error) if isinstance(error, ValueError) else "its content is not what `launch` writes"
    if isinstance(error, OSError):
        reason = (error.strerror or "").lower()
    return refusal("run-directory", f"`{path}` cannot be read: {reason}")


def root(world: World) -> Path:
    """Where run directories are: `$XDG_STATE_HOME/launch/runs`, by default under `~/.local/state`.

    Without HOME the home directory of the user's passwd entry is taken, where it exists and is ours; else
    `/tmp/launch-UID`, which has to be a directory of our own that others cannot enter.
    """
    state = world.environ.get("XDG_STATE_HOME", "")
    # The XDG specification has relative paths ignored.
    if state.startswith("/"):
        return Path(state) / "launch" / "runs"
    home = world.environ.get("HOME") or _passwd_home()
    if home:
        return Path(home) / ".local" / "state" / "launch" / "runs"
    return Path(f"/tmp/launch-{os.geteuid()}") / "runs"  # noqa: S108  (refused below unless it is ours alone)


def create(world: World, contents: Contents) -> Run:
    """Makes the run directory, everything in it written and fsynced. Raises Refused with exit 1.

    One that is elsewhere gets a link in `root`, by which it is found.
    """
    where = contents.where or root(world)
    run = None
    try:
        make_root(where)
        run = Run(_make(where, contents.name, world.now()))
        _write(run, contents)
        _list(root(world), run)
    except OSError as error:
        if run is not None:
            # What is half made would be listed, and take room where there is none.
            remove(world, run)
        raise _unmade(contents, error, where, root(world)) from error
    return run


def _unmade(contents: Contents, error: OSError, where: Path, usual: Path) -> Refused:
    path = str(error.filename or where)
    message = f"the run directory cannot be made: `{path}`: {(error.strerror or str(error)).lower()}"
    room = "a directory with room that you can write to"
    if contents.where is None or Path(path).is_relative_to(usual):
        return refusal("run-directory", message, f"set `XDG_STATE_HOME` to {room}")
    advice = f"let `runs` of the cluster file name {room}, and that all nodes see"
    return Refused([Diagnostic("run-directory", message, contents.place, help=advice, exit=1)])


def runs(world: World) -> Sequence[Run]:
    """Every run directory, oldest first; what is no run directory is passed over."""
    try:
        found = [entry for entry in root(world).iterdir() if _NAME.fullmatch(entry.name) and entry.is_dir()]
    except OSError:
        return []
    return [Run(path.resolve() if path.is_symlink() else path) for path in sorted(found, key=_age)]


def find(world: World, word: str = LAST) -> Run:
    """The run that `word` means: its name, the beginning of just one name or of just one that lives, or `last`.

    Raises Refused with exit 2, and with exit 1 where a newer release wrote it.
    """
    known = runs(world)
    if not known:
        raise refusal("unknown-run", f"there are no runs in `{root(world)}`", "`launch up RECIPE` starts one", 2)
    if word == LAST:
        return understood(known[-1])
    meant = [run for run in known if run.name == word] or [run for run in known if run.name.startswith(word)]
    if len(meant) > 1:
        meant = [run for run in meant if lock.held(str(run.path))] or meant
    if len(meant) == 1:
        return understood(meant[0])
    if not meant:
        close = nearest(word, [run.name for run in known])
        advice = f"did you mean `{close}`?" if close else "`launch ps --all` lists them"
        raise refusal("unknown-run", f"there is no run `{word}`", advice, 2)
    names = ", ".join(f"`{run.name}`" for run in meant[-5:])
    raise refusal("unknown-run", f"`{word}` is the beginning of {len(meant)} runs: {names}", "say more of the name", 2)


def understood(run: Run) -> Run:
    """The run itself. Raises Refused with exit 1 where its directory is of a format that we do not know."""
    try:
        raw = json.loads((run.path / prepare.SCRIPT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return run  # damaged: what can be said of it is said by whoever wants more than its name
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        about = f"its format is {schema}, and this `launch` knows formats up to {SCHEMA}"
        raise refusal("run-newer", f"a newer `launch` wrote `{run.name}`: {about}", "use the one that wrote it")
    return run


def remove(world: World, run: Run) -> None:
    """Removes the directory of a run that was never started."""
    shutil.rmtree(run.path, ignore_errors=True)
    with contextlib.suppress(OSError):
        (root(world) / run.name).unlink(missing_ok=True)


def script(run: Run) -> Script:
    """The run's Script, late references not bound. Raises Refused with exit 1 for one that cannot be read."""
    try:
        return load((run.path / prepare.SCRIPT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise unreadable(run.path / prepare.SCRIPT, error) from error


def budget(run: Run) -> float:
    """Seconds that the run may take to stop; where its Script cannot be read, those of any other."""
    try:
        return script(run).budgets.stop
    except Refused:
        return Budgets().stop


def claim_stop(run: Run, by: str) -> bool:
    """Writes who asks for the stop; False when somebody has asked already. Raises OSError."""
    if (run.path / files.STOP).exists():
        return False
    mine = run.path / f"{files.STOP_RESERVE}.{secrets.token_hex(4)}"
    # One rename can win; the bytes that were kept are there on a full disk too.
    with contextlib.suppress(FileNotFoundError):
        (run.path / files.STOP_RESERVE).rename(mine)
        files.fill(str(mine), str(run.path / files.STOP), files.as_json({"by": by}))
        return True
    return False


def _passwd_home() -> str | None:
    home = account.known({}).get("HOME")
    return home if home and os.access(home, os.W_OK) else None


def make_root(where: Path) -> None:
    """Makes a folder for run directories, for this user alone. Raises OSError."""
    for parent in reversed([where, *where.parents]):
        if not parent.exists():
            with contextlib.suppress(FileExistsError):
                parent.mkdir(mode=0o700)
                parent.chmod(0o700)
    shared = Path(f"/tmp/launch-{os.geteuid()}")  # noqa: S108
    if shared in where.parents:
        found = shared.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise PermissionError(1, "not a directory of this user alone", str(shared))


def _make(where: Path, name: str, now: float) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "run"
    for _ in range(_ATTEMPTS):
        path = where / f"{base[:100]}-{stamp}-{secrets.token_hex(2)}"
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            # Whatever the umask left of the mode.
            path.chmod(0o700)
            return path.resolve()
    raise FileExistsError(17, "every name is taken", str(where))


def _write(run: Run, contents: Contents) -> None:
    path = str(run.path)
    documents = ((f"{path}/{name}", content, 0o600) for name, content in _documents(run, contents))
    files.write_all(chain(files.reserved(path), documents))
    files.sync(str(run.path.parent))


def _list(index: Path, run: Run) -> None:
    if index.resolve() == run.path.parent.resolve():
        return
    make_root(index)
    (index / run.name).symlink_to(run.path)
    files.sync(str(index))


def _documents(run: Run, contents: Contents) -> Iterator[tuple[str, bytes]]:
    slots = {**contents.slots, "run": str(run.path), **({"id": run.name} if "id" in contents.script.slots else {})}
    yield PLAN, contents.plan.encode("utf-8", "surrogateescape")
    yield prepare.SCRIPT, dump(contents.script).encode("ascii")
    yield prepare.SLOTS, files.as_json(slots)
    yield ARCHIVE, bundle()
    if any(word.endswith(f"/{rehearsal.ARCHIVE}") for child in contents.script.children for word in child.argv):
        yield rehearsal.ARCHIVE, simulator()
    yield lock.FILE, lock.blank()
    yield from contents.more(run.path).items()
    for number, (name, text) in enumerate(contents.sources.items()):
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name.rpartition("/")[2]).strip("-.") or "document"
        yield f"{SOURCES}/{number}-{plain}", text.encode("utf-8", "surrogateescape")


def _age(path: Path) -> tuple[str, float, str]:
    """Runs of one second are told apart by when their plan was written; it never is again."""
    match = _NAME.fullmatch(path.name)
    try:
        written = (path / PLAN).stat().st_mtime
    except OSError:
        written = 0.0
    return (match["stamp"] if match else "", written, path.name)
