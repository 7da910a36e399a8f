"""From `script.json` and `slots.json` to a bound Script with all its files written."""

import json
import os
import re
import signal
from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, Sequence

from launcher.run import files
from launcher.run.script import Child, Script, bind, dump, load
from launcher.run.words import GATES

SCRIPT = "script.json"
SLOTS = "slots.json"
NODES = "nodes.json"
BOUND = "bound.json"
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def read(run: str) -> Script:
    """The Script of the run directory with every late reference bound.

    Raises OSError, and ValueError for a script that cannot be run, naming what is wrong.
    """
    return bind_all(script(run), slots(run))


def script(run: str) -> Script:
    """The Script of the run directory, late references not bound. Raises OSError, ValueError."""
    with open(os.path.join(run, SCRIPT), encoding="utf-8") as file:
        return load(file.read())


def bound(run: str) -> Script:
    """The Script as it is executed. Raises OSError, ValueError."""
    with open(os.path.join(run, BOUND), encoding="utf-8") as file:
        return load(file.read())


def slots(run: str) -> Dict[str, str]:
    """Late references whose values are known so far: from the submission, and from the job. Raises OSError,
    ValueError.
    """
    with open(os.path.join(run, SLOTS), encoding="utf-8") as file:
        found: Dict[str, str] = json.load(file)
    return {**found, **nodes(run).get("slots", {})}


def nodes(run: str) -> Dict[str, Any]:
    """What the supervisor has found out about the job: `slots`, `hosts`, `nodes`; nothing before it has."""
    try:
        with open(os.path.join(run, NODES), encoding="utf-8") as file:
            found: Dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return {}
    return found


def hosts(run: str) -> List[str]:
    """The nodes of the job in the order of the plan's."""
    return list(nodes(run).get("hosts", ()))


def meet(run: str, known: Mapping[str, str], names: Sequence[str], told: Sequence[Mapping[str, Any]] = ()) -> None:
    """Writes what `nodes` reads. Raises OSError."""
    content = {"slots": dict(known), "hosts": list(names), "nodes": list(told)}
    files.write(os.path.join(run, NODES), files.as_json(content))


def bind_all(script: Script, slots: Mapping[str, str]) -> Script:
    """The Script with every late reference bound. Raises ValueError, naming what is wrong."""
    missing = [name for name in script.slots if name not in slots]
    if missing:
        raise ValueError("no value for the late reference `%s`" % missing[0])
    try:
        bound: Script = bind(script, slots)
    except KeyError as error:
        raise ValueError("no value for the late reference %s" % error) from error
    for fault in faults(bound):
        raise ValueError(fault)
    return bound


def write(run: str, script: Script) -> None:
    """Writes the Script's files, then `bound.json`: what is executed, to the byte. Raises OSError."""
    written = [(os.path.join(run, file.path), files.encode(file), file.mode) for file in script.files]
    files.write_all([*written, (os.path.join(run, BOUND), dump(script).encode("ascii"), 0o600)])


def faults(script: Script) -> Iterator[str]:
    """What would keep a bound Script from being run, in words."""
    names = Counter(child.name for child in script.children)
    for child in script.children:
        yield from _faults(child, names)
    yield from _circles({child.name: child.after for child in script.children})
    for gate in [*script.ready, *(gate for child in script.children for gate in child.gates)]:
        if gate.kind not in GATES:
            yield "a gate of the unknown kind `%s`" % gate.kind
    for file in script.files:
        if os.path.isabs(file.path) or ".." in file.path.split("/") or not file.path:
            yield "the file `%s` is not inside the run directory" % file.path


def _faults(child: Child, names: Mapping[str, int]) -> Iterator[str]:
    if not _NAME.fullmatch(child.name):
        yield "`%s` is no name of a step" % child.name
    if names[child.name] > 1:
        yield "two steps are called `%s`" % child.name
    if not child.argv:
        yield "step `%s` has no command" % child.name
    if not hasattr(signal, "SIG" + child.stop.signal):
        yield "step `%s` wants the unknown signal `%s`" % (child.name, child.stop.signal)
    for other in child.after:
        if other not in names:
            yield "step `%s` comes after `%s`, which does not exist" % (child.name, other)


def _circles(after: Mapping[str, Sequence[str]]) -> Iterator[str]:
    waiting = dict(after)
    while waiting:
        free = [name for name, others in waiting.items() if not any(other in waiting for other in others)]
        if not free:
            yield "steps wait for each other: %s" % ", ".join("`%s`" % name for name in waiting)
            return
        for name in free:
            del waiting[name]
