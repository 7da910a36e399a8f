"""`launch logs RUN [ROLE|STEP…]`: what the steps wrote, each line behind the name of its step."""

import argparse
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal, paint
from launcher.execute.journal import Run, find
from launcher.execute.status import StepStatus, status
from launcher.execute.world import Real, World
from launcher.run import lock

_PAUSE = 0.1
_BLOCK = 1 << 20
_SGR = re.compile(r"\x1b\[[0-9;:]*m")
_STYLES = ("36", "33", "35", "32", "34", "96", "93", "95")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints the logs; with `--follow` goes on until the run ends."""
    if args.lines is not None and args.lines < 0:
        raise Usage("`--lines` is a number of lines, 0 or more", advice="see `launch logs --help`")
    world = Real()
    found = find(world, args.run)
    steps = chosen(status(found).steps, args.names)
    logs = [Log(found.path / step.log) for step in steps]
    heads = _heads(steps, color=terminal.color_out)
    for log, head in zip(logs, heads, strict=True):
        _say(terminal, head, log.lines(last=args.lines))
    if args.follow:
        _follow(world, found, list(zip(logs, heads, strict=True)), terminal)
    for log, head in zip(logs, heads, strict=True):
        _say(terminal, head, log.rest())
    return 0


def chosen(steps: Sequence[StepStatus], names: Sequence[str]) -> Sequence[StepStatus]:
    """Steps of these names or roles, all where none is named. Raises `Usage` for a name that is neither."""
    known = [name for step in steps for name in (step.name, step.role)]
    for name in names:
        if name not in known:
            raise Usage(
                f"the run has no role or step `{name}`", name, known, f"it has {', '.join(dict.fromkeys(known))}"
            )
    return [step for step in steps if not names or step.name in names or step.role in names]


@dataclass
class Log:
    """A log that may still grow. `lines` gives complete lines that are new, `rest` an unfinished one."""

    path: Path
    _offset: int = 0
    _partial: bytes = field(default=b"")

    def lines(self, last: int | None = None) -> Iterator[str]:
        """New lines; with `last` only that many of them."""
        blocks = self._blocks()
        if last is None:
            for block in blocks:
                yield from self._split(block)
        else:
            kept: deque[str] = deque(maxlen=last)
            for block in blocks:
                kept.extend(self._split(block))
            yield from kept

    def rest(self) -> Iterator[str]:
        """What stands after the last line end."""
        yield from self.lines()
        if self._partial:
            yield self._partial.decode("utf-8", "backslashreplace")
            self._partial = b""

    def _blocks(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                while block := file.read(_BLOCK):
                    self._offset += len(block)
                    yield block
        except FileNotFoundError:
            return  # the step has not been started

    def _split(self, block: bytes) -> Iterator[str]:
        *whole, self._partial = (self._partial + block).split(b"\n")
        yield from (line.decode("utf-8", "backslashreplace") for line in whole)


def _follow(world: World, run: Run, logs: Sequence[tuple[Log, str]], terminal: Terminal) -> None:
    while True:
        live = lock.held(str(run.path))
        for log, head in logs:
            _say(terminal, head, log.lines())
        terminal.flush()
        if not live:
            return
        world.pause(_PAUSE)


def _heads(steps: Sequence[StepStatus], *, color: bool) -> list[str]:
    if len(steps) == 1:
        return [""]
    wide = max((len(step.name) for step in steps), default=0)
    return [
        paint(f"{step.name:<{wide}} | ", _STYLES[number % len(_STYLES)], color) for number, step in enumerate(steps)
    ]


def _say(terminal: Terminal, head: str, lines: Iterator[str]) -> None:
    for line in lines:
        terminal.say(head + (line if terminal.color_out else _SGR.sub("", line)))
