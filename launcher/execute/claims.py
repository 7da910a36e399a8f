"""Ports of this machine that runs of ours are about to listen on, or listen on already.

An engine binds its port minutes after its run began. Another run that was planned onto the same port in between would
find it free, and its gates would be opened by the other's answers.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping

from launcher.execute import journal
from launcher.execute.held import Held, held
from launcher.execute.runs import WITHIN, submitted
from launcher.execute.told import Told
from launcher.execute.world import World
from launcher.run import lock

LOCK = "starting.lock"
"""Beside the folder of run directories: held from the look at ports until the run that wants them is there."""

_PATIENCE = 60.0


def claimed(world: World) -> Mapping[int, str]:
    """Port → name of the run on this machine whose plan has it, for all that live."""
    found: dict[int, str] = {}
    for run in journal.runs(world):
        if submitted(run.path) or (run.path / WITHIN).exists() or not lock.held(str(run.path)):
            continue
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            plan = json.loads((run.path / journal.PLAN).read_text(encoding="utf-8"))["plan"]
            found.update((number, run.name) for step in plan["steps"] for number in step["ports"].values())
    return found


@contextlib.contextmanager
def starting(world: World, name: str, told: Told) -> Iterator[None]:
    """One start at a time on this machine. `told` gets a line where it has to wait. Raises Refused with exit 1."""
    folder = journal.root(world)
    with contextlib.ExitStack() as stack:
        # Where there can be no run directory either, that is what is said.
        with contextlib.suppress(OSError):
            journal.make_root(folder)
            try:
                stack.enter_context(held(world, folder.parent / LOCK, f"starting {name}", _PATIENCE, told))
            except Held as holder:
                message = f"another run has been starting for more than {_PATIENCE:g} s: {holder}"
                raise journal.refusal("run-start", message, "wait for it, or end that process") from None
        yield
