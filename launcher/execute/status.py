"""How a run is: read from its lock, its outcome and its journal, whoever wrote them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from launcher.execute.journal import Run, runs
from launcher.execute.runs import Kinds, Runs
from launcher.execute.world import World
from launcher.run import files, lock, outcome, prepare, turns
from launcher.run.script import Child, load
from launcher.run.sweep import EVENTS

Event = Mapping[str, Any]

CREATED = "created"
PENDING = "pending"
SUSPENDED = "suspended"
LOST = "lost"
UNKNOWN = "unknown"
WAITING = "waiting"
RUNNING = "running"
ENDED = "ended"
HELD = "held"
_SILENT = "no outcome was written: keeper and supervisor were killed, or the run directory could not be written"

STATES: Mapping[str, str] = {
    PENDING: "the Slurm job waits; the column `url` says for what",
    SUSPENDED: "Slurm suspended the job, for another one or by `scontrol suspend`: it answers nobody until it goes on",
    turns.STARTING: "steps are started, each once those it comes after are ready",
    turns.GATED: "all steps were started, and some are not ready yet",
    turns.READY: "a completion has gone through the public port",
    turns.BENCHMARK: "the benchmark runs",
    turns.STOPPING: "steps are being stopped",
    outcome.FINISHED: "the benchmark has ended",
    outcome.STOPPED: "`launch down`",
    outcome.INTERRUPTED: "Ctrl-C, a signal, or the terminal that followed it hung up",
    outcome.FAILED: "a step ended, or a node failed (`NODE_FAIL`: Slurm takes its time to notice, SlurmdTimeout)",
    outcome.EXPIRED: "everything was alive and not ready in time",
    outcome.TIMEOUT: "the job's time limit was reached",
    outcome.CANCELLED: "the job was ended by `scancel`, or preempted",
    outcome.UNFIT: "the job's nodes cannot take the run: a port is in use there, a path is missing",
    outcome.BROKEN: "the supervisor or its keeper was killed, or the run directory went away",
    HELD: "it has ended, and its job is kept (`up --hold`): for `up --in`, until `launch down` gives it back",
    LOST: "both were killed, so that nobody wrote how it ended; what of it lives on, `launch down` ends",
    CREATED: "the run directory was made, and nothing was started",
    UNKNOWN: "another version wrote the run directory, or it is damaged",
}
"""Every state of a run, those of live runs first → what it means."""


@dataclass(frozen=True)
class StepStatus:
    """One step: `state` is waiting, gated (started, its gate shut), running or ended; `log` its path in the
    run directory, `outputs` those that its tasks write on their nodes; `exit` or `signal` say how it ended. One that
    is not `lasting` is meant to end before the run does.
    """

    name: str
    role: str
    state: str
    log: str
    pid: int | None = None
    exit: int | None = None
    signal: int | None = None
    outputs: tuple[str, ...] = ()
    lasting: bool = True


@dataclass(frozen=True)
class Status:
    """`state` of a live run: pending, suspended, starting, gated, ready, benchmark, stopping; of one that has ended:
    finished, stopped, interrupted, failed, expired, timeout, cancelled, unfit, broken, or lost (killed with no outcome
    written); of one that never started: created; of a directory that another version wrote: unknown. Times are UTC in
    ISO 8601, `ready_after` seconds.
    `job` is the id of its Slurm job, `waiting` what that waits for. `left`: what of a lost run lives on,
    pids of processes and ids of Slurm's steps. A run that has ended and whose job is kept is `held`.
    """

    state: str
    live: bool
    exit: int | None = None
    cause: str | None = None
    hint: str | None = None
    url: str | None = None
    started: str | None = None
    ready_after: float | None = None
    ended: str | None = None
    first: Mapping[str, Any] | None = None
    steps: tuple[StepStatus, ...] = ()
    job: str | None = None
    waiting: str | None = None
    left: tuple[int | str, ...] = ()
    held: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing of the run lives, its job included."""
        return not (self.live or self.left or self.held)


def called(steps: Sequence[StepStatus]) -> Sequence[str]:
    """Names of the steps and of their roles, each once; the launcher's own have no role."""
    return list(dict.fromkeys(name for step in steps for name in (step.name, step.role) if name))


class Tail:
    """Reads a run's journal as it grows: each call of `read` gives the events that are new."""

    def __init__(self, run: Run) -> None:
        self._path = run.path / EVENTS
        self._offset = 0

    def read(self) -> Iterator[Event]:
        """Complete lines only; a line that is no event is passed over."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                content = file.read()
        except OSError:
            return
        whole = content[: content.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            event = _event(line)
            if event is not None:
                yield event


def status(run: Run, kind: Runs | None = None) -> Status:
    """The state of the run; never raises for what the directory holds, or lacks. `kind` is the kind of runs it is
    of, by default those of this machine. Raises Refused where the scheduler cannot be asked.
    """
    live = _held(run) if kind is None else kind.live(run)
    waiting = kind.waiting(run) if kind is not None and live else None
    events = list(Tail(run).read())
    facts: dict[str, Any] = {"live": live, "steps": _steps(run, events), "waiting": waiting}
    if kind is not None:
        facts |= {"job": kind.job(run), "held": not live and kind.held(run)}
    for event in events:
        if event["event"] == "begin":
            facts.update(url=event.get("url") or None, started=event.get("at"))
        elif event["event"] == "ready":
            facts["ready_after"] = event.get("after")
    if live:
        return Status(_halted(events) if waiting else _phase(events), **facts)
    return _ended(run, facts, events)


def every(world: World, kinds: Kinds) -> Sequence[tuple[Run, Status]]:
    """Every run, oldest first, and how it is. Those without keeper and supervisor may have left processes here."""
    found = [(run, status(run, kinds.of(run))) for run in runs(world)]
    # Whoever writes an outcome has looked for what is left: only where nobody did is there a reason to.
    left = kinds.left([run for run, state in found if state.state == LOST])
    return [(run, _outlived(state, left.get(run.path, ()))) for run, state in found]


def _outlived(found: Status, left: Sequence[int | str]) -> Status:
    if not left:
        return found
    cause = f"keeper and supervisor were killed; `launch down` ends {counted(left)} left"
    return replace(found, left=tuple(left), cause=cause)


def counted(left: Sequence[int | str]) -> str:
    """What a run left, in words: `1 process`, `2 processes and 3 steps`."""
    steps = sum(isinstance(each, str) for each in left)
    processes = len(left) - steps
    words = [f"{processes} process{'es' * (processes > 1)}"] if processes else []
    words += [f"{steps} step{'s' * (steps > 1)}"] if steps else []
    return " and ".join(words)


def _ended(run: Run, facts: dict[str, Any], events: list[Event]) -> Status:
    found = outcome.read(str(run.path))
    if found is not None:
        keys = ("exit", "cause", "hint", "started", "ready_after", "ended", "first")
        return Status(str(found.get("state", UNKNOWN)), **{**facts, **{key: found.get(key) for key in keys}})
    if not run.path.is_dir():
        return Status(LOST, exit=1, cause="the run directory has vanished", **facts)
    if (run.path / files.OUTCOME).exists() or not _ours(run):
        return Status(UNKNOWN, exit=1, cause="the run directory was written by another version, or is damaged", **facts)
    if lock.holder(str(run.path)) is None:
        return Status(CREATED, exit=1, cause="it was never started", **facts)
    return _told(events, facts) or Status(LOST, exit=1, cause=_SILENT, **facts)


def _told(events: list[Event], facts: dict[str, Any]) -> Status | None:
    """The keeper's last words, where it could write them but not the outcome: a directory that turned read-only."""
    for event in reversed(events):
        if event["event"] == "end" and isinstance(event.get("exit"), int) and event.get("cause"):
            first = event.get("first") if isinstance(event.get("first"), dict) else None
            cause = f"{event['cause']} (and the outcome could not be written)"
            facts = {**facts, "ended": event.get("at"), "first": first}
            return Status(str(event.get("state")), exit=event["exit"], cause=cause, **facts)
    return None


def _held(run: Run) -> bool:
    try:
        return lock.held(str(run.path))
    except OSError:
        return False


def _ours(run: Run) -> bool:
    try:
        load((run.path / prepare.SCRIPT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _halted(events: list[Event]) -> str:
    """A run whose supervisor ran and whose job does not."""
    return SUSPENDED if any(event["event"] == "begin" for event in events) else PENDING


def _phase(events: list[Event]) -> str:
    """The journal's last word on the phase."""
    for event in reversed(events):
        if event["event"] == "phase":
            return str(event.get("phase"))
        if event["event"] in ("stop", "end"):
            return "stopping"
        if event["event"] == "ready":
            return "ready"
    return "starting"


def _steps(run: Run, events: list[Event]) -> tuple[StepStatus, ...]:
    try:
        children = load((run.path / prepare.SCRIPT).read_text(encoding="utf-8")).children
    except (OSError, ValueError):
        return ()
    told: dict[str, dict[str, Event]] = {}
    for event in events:
        told.setdefault(str(event.get("step")), {})[event["event"]] = event
    return tuple(_step(child, told.get(child.name, {})) for child in children)


def _step(child: Child, told: Mapping[str, Event]) -> StepStatus:
    started, ended = told.get("start", {}), told.get("exit", told.get("unstartable"))
    state = WAITING
    if ended is not None:
        state = ENDED
    elif started:
        state = RUNNING if "gate-open" in told or not child.lasting else "gated"
    how = ended or {}
    return StepStatus(
        child.name,
        child.role,
        state,
        log=str(started.get("log") or child.log or f"logs/{child.name}.log"),
        pid=started.get("pid"),
        exit=how.get("exit"),
        signal=how.get("signal"),
        outputs=child.outputs,
        lasting=child.lasting,
    )


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None
