"""What a run is doing, told while it starts: a line an event, and one that moves on a live terminal."""

from collections.abc import Callable, Collection, Mapping

from launcher.cli.terminal import Terminal
from launcher.execute.status import Event

_REMIND = 10.0
"""Seconds until it is said, where nobody watches a line that moves, what is waited for."""

_APART = 300.0
"""Seconds between two such lines at most; before, each comes after twice the time of the last."""

_SAID = 100
"""Of an answer of a gate more characters than these say no more."""


class Progress:
    """Tells the events of one run. `tick` is called often, with the seconds since the run was started; `hint` says,
    with the first reminder, where to look. Steps of which others wait for the end are `preparing`.
    """

    def __init__(self, terminal: Terminal, width: int, hint: str = "", preparing: Collection[str] = ()) -> None:
        self._terminal = terminal
        self._width = width
        self._shut: dict[str, str] = {}
        self._started: list[str] = []
        self._opened: set[str] = set()
        self._hint = hint
        self._preparing = preparing
        self._remind = _REMIND
        self._stopping = False
        self.ready = False

    def tell(self, event: Event) -> None:
        """Takes note of an event; says what people want to know of it."""
        told: Mapping[str, Callable[[Event], None]] = {
            "start": self._start,
            "gate-open": self._open,
            "gate-shut": self._closed,
            "exit": self._ended,
            "ready": self._ready,
            "stop": self._stop,
        }
        if event["event"] in told:
            told[event["event"]](event)

    def tick(self, seconds: float, pending: str | None = None) -> None:
        """Says what is waited for: each moment on a live terminal, else after 10, 20, 40, … seconds. `pending` is what
        a run that has not begun waits for.
        """
        text = f"{pending} for {seconds:.0f} s" if pending else self._waiting(f"{seconds:.0f} s")
        self._terminal.status(f"  {text}")
        if self.ready or seconds < self._remind:
            return
        self._remind = seconds + min(seconds, _APART)
        if not self._terminal.live:
            self._terminal.note(f"  {text}")
        if self._hint and not pending:
            self._terminal.note(f"  {self._hint}")
            self._hint = ""

    def _waiting(self, since: str) -> str:
        if self.ready:
            return f"running for {since}; Ctrl-C stops it"
        for step in self._started:
            if step not in self._opened:
                return f"waiting {since} for {step}{_said(self._shut.get(step))}"
        return f"waiting {since} for the first completion{_said(self._shut.get(''))}"

    def _start(self, event: Event) -> None:
        self._started.append(event["step"])
        for name in event.get("absent", ()):
            self._terminal.note(f"  {event['step']:<{self._width}}  `{name}` of `env_from` is not set")

    def _open(self, event: Event) -> None:
        self._opened.add(event["step"])
        what = "done" if event["step"] in self._preparing else "ready"
        self._line(event["step"], f"{what} after {event['after']:.1f} s")

    def _closed(self, event: Event) -> None:
        self._shut[event["step"]] = f"{event['gate']}: {event['said']}"

    def _ended(self, event: Event) -> None:
        if self._stopping:
            return  # ended by the teardown, not by itself
        if event["step"] in self._preparing and event.get("exit") == 0:
            return  # the opening that follows says so
        how = f"signal {event['signal']}" if "signal" in event else f"exit code {event.get('exit')}"
        self._line(event["step"], f"ended with {how}")

    def _ready(self, event: Event) -> None:
        self.ready = True

    def _stop(self, event: Event) -> None:
        self._stopping = True

    def _line(self, step: str, text: str) -> None:
        self._terminal.note(f"  {step:<{self._width}}  {text}")


def _said(shut: str | None) -> str:
    if not shut:
        return ""
    return f": {shut if len(shut) <= _SAID else f'{shut[: _SAID - 1]}…'}"
