"""`launch logs RUN [ROLE|STEP…]`: what the steps wrote, each line behind the name of its step, and what was said
beside them.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from launcher.cli.guard import Usage
from launcher.cli.terminal import Terminal, paint
from launcher.execute.journal import find
from launcher.execute.runs import Kinds
from launcher.execute.status import StepStatus, called, status
from launcher.execute.world import Real, World

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
    kind = Kinds(world).of(found)
    beside = found.path / kind.log
    steps = chosen(status(found, kind).steps, args.names, beside.stem)
    if not steps and not args.names:
        terminal.note(f"`{found.name}` has no steps")
    named = [pair for step in steps for pair in written(step)]
    if beside.stem in args.names or (not args.names and (args.follow or _filled(beside))):
        named.append((beside.stem, kind.log))
    logs = [Log(found.path / path) for _, path in named]
    heads = _heads([name for name, _ in named], color=terminal.color_out)
    for log, head in zip(logs, heads, strict=True):
        _say(terminal, head, log.lines(last=args.lines))
    if args.follow:
        _follow(world, lambda: kind.live(found), list(zip(logs, heads, strict=True)), terminal)
    for log, head in zip(logs, heads, strict=True):
        _say(terminal, head, log.rest())
    return 0


def chosen(steps: Sequence[StepStatus], names: Sequence[str], beside: str) -> Sequence[StepStatus]:
    """Steps of these names or roles, all where none is named. Raises `Usage` for a name that is neither, nor that of
    what was said `beside` them.
    """
    known = [*called(steps), beside]
    for name in names:
        if name not in known:
            raise Usage(f"the run has no role or step `{name}`", name, known, f"it has {', '.join(known)}")
    return [step for step in steps if not names or step.name in names or step.role in names]


def written(step: StepStatus) -> Iterator[tuple[str, str]]:
    """Name → path in the run directory of all that a step wrote: its tasks, one by one, then what `srun` says."""
    several = len(step.outputs) > 1
    yield from ((f"{step.name}.{task}" if several else step.name, path) for task, path in enumerate(step.outputs))
    yield step.name, step.log


def _filled(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


@dataclass
class Log:
    """A log that may still grow. `lines` gives complete lines that are new, `rest` an unfinished one; it is read by
    `block` bytes.
    """

    path: Path
    block: int = _BLOCK
    _offset: int = 0
    _partial: bytearray = field(default_factory=bytearray)

    def lines(self, last: int | None = None) -> Iterator[str]:
        """New lines; with `last` only that many of those there are, found from the end of the file."""
        if last is not None:
            self._offset = self._before(last)
        for block in self._blocks():
            yield from self._split(block)

    def rest(self) -> Iterator[str]:
        """What stands after the last line end."""
        yield from self.lines()
        if self._partial:
            yield self._partial.decode("utf-8", "backslashreplace")
            self._partial.clear()

    def _before(self, last: int) -> int:
        """Where the last lines begin."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            position, wanted = file.seek(0, os.SEEK_END), last + 1
            while position > 0:
                step = min(self.block, position)
                position -= step
                file.seek(position)
                block = file.read(step)
                found = block.count(b"\n")
                if found >= wanted:
                    return position + _back(block, wanted)
                wanted -= found
        return 0

    def _blocks(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                while block := file.read(self.block):
                    self._offset += len(block)
                    yield block
        except FileNotFoundError:
            return  # the step has not been started

    def _split(self, block: bytes) -> Iterator[str]:
        # A line may be of many blocks: it is not looked through anew with each.
        first, *rest = block.split(b"\n")
        self._partial += first
        for piece in rest:
            line = self._partial.decode("utf-8", "backslashreplace")
            self._partial = bytearray(piece)
            yield line


def _back(block: bytes, wanted: int) -> int:
    """Where the text begins after that many line ends, counted from the end of the block."""
    at = len(block)
    for _ in range(wanted):
        at = block.rfind(b"\n", 0, at)
    return at + 1


def _follow(world: World, going: Callable[[], bool], logs: Sequence[tuple[Log, str]], terminal: Terminal) -> None:
    while True:
        live = going()
        for log, head in logs:
            _say(terminal, head, log.lines())
        terminal.flush()
        if not live:
            return
        world.pause(_PAUSE)


def _heads(names: Sequence[str], *, color: bool) -> list[str]:
    if len(set(names)) == 1:
        return [""] * len(names)
    wide = max(map(len, names), default=0)
    order = list(dict.fromkeys(names))
    return [paint(f"{name:<{wide}} | ", _STYLES[order.index(name) % len(_STYLES)], color) for name in names]


def _say(terminal: Terminal, head: str, lines: Iterator[str]) -> None:
    for line in lines:
        terminal.say(head + (line if terminal.color_out else _SGR.sub("", line)))
