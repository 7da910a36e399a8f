"""Signals children on one node: a step beside theirs, since a signal to `srun` does not reach them gently."""

import json
import os
import signal
import sys
from contextlib import suppress
from typing import Dict, List

from launcher.run import notes


def tell(run: str, number: int, children: List[str]) -> Dict[str, List[int]]:
    """Sends the signal to every task that the children noted on this host; child → pids that were told.

    The tasks alone, not their groups: what helps to keep a container's files there must live on.
    """
    here = notes.host()
    told: Dict[str, List[int]] = {}
    for child in children:
        told[child] = notes.noted(run, child, here)
        for pid in told[child]:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                # A stopped process hears nothing before it goes on.
                os.kill(pid, signal.SIGCONT)
    return told


def main(argv: List[str]) -> int:
    """`RUNDIR SIGNAL CHILD…`: prints one line of JSON, child → pids."""
    run, name, children = argv[0], argv[1], argv[2:]
    number = getattr(signal, "SIG%s" % name, None)
    if not isinstance(number, signal.Signals):
        sys.stderr.write("no signal is called %s\n" % name)
        return 2
    sys.stdout.write(json.dumps(tell(run, number, children)) + "\n")
    return 0
