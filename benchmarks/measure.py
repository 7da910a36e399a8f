"""What a command costs: CPU seconds and peak memory of one process tree, medians over rounds in alternating order."""

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """CPU and wall seconds, peak resident memory in MB of the largest process, and MB written to disks."""

    cpu: float
    wall: float
    peak: float
    written: float = 0.0


def cost(words: Sequence[str], env: Mapping[str, str] | None = None) -> Cost:
    """One run of a command. Raises RuntimeError where it fails: a failing command is quick and says nothing.

    The peak counts from before exec and so is never below this process's own; keep this one small.
    """
    began = time.perf_counter()
    with subprocess.Popen(
        words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        said = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}:\n{said.decode(errors='replace')}")
    written = usage.ru_oublock * 512 / 1e6
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss / 1024, written)


def medians(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Cost]:
    """Median cost of each command by name; odd rounds go backwards, so that drift falls on all alike."""
    taken: dict[str, list[Cost]] = {name: [] for name in commands}
    for words in commands.values():
        cost(words)  # fills the caches of files and bytecode
    for number in range(rounds):
        for name in reversed(list(commands)) if number % 2 else list(commands):
            taken[name].append(cost(commands[name]))
    return {
        name: Cost(
            statistics.median(one.cpu for one in costs),
            statistics.median(one.wall for one in costs),
            statistics.median(one.peak for one in costs),
        )
        for name, costs in taken.items()
    }
