"""Plain data between `render` and the supervisor: what to start, in which order, and when it is ready.

A `Script` is all the supervisor ever sees. It holds words, environment, files, gates and budgets, and
late references (`ref`) in place of what is known only once nodes are: host names, addresses, the run
directory. `bind` puts those in; nothing else is decided after planning.
"""

import dataclasses
import json
import re
from dataclasses import field
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from launcher.run.record import record

SCHEMA = 1

# U+FDD0 and U+FDD1 are noncharacters: Unicode keeps them for a program's own use, and a Document refuses
# them in what users write, so no text of a user's can be mistaken for a reference.
OPEN = "\ufdd0"
CLOSE = "\ufdd1"
_REFERENCE = re.compile(OPEN + "([a-z]+[0-9]*)" + CLOSE)


def ref(kind: str, index: Optional[int] = None) -> str:
    """The mark for a late value: `ref("ip", 0)`, `ref("host", 0)`, `ref("run")`."""
    return "%s%s%s%s" % (OPEN, kind, "" if index is None else index, CLOSE)


def bind(value: Any, slots: Mapping[str, str]) -> Any:
    """`value` (text, list, tuple, mapping or plain scalar) with every mark replaced from `slots`.

    Raises KeyError where a mark has no slot.
    """
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: slots[found.group(1)], value)
    if isinstance(value, dict):
        return {bind(key, slots): bind(item, slots) for key, item in value.items()}
    if isinstance(value, list):
        return [bind(item, slots) for item in value]
    if isinstance(value, tuple):
        return tuple(bind(item, slots) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: bind(getattr(value, f.name), slots) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **changed)
    return value


def shown(text: str) -> str:
    """`text` as people read it: marks become `{ip0}`, `{run}`."""
    return _REFERENCE.sub(lambda found: "{%s}" % found.group(1), text)


@record
class Expect:
    """What a gate wants to see in an answer.

    `at` is a dotted path into a JSON body (`""` the whole), or for a gauge the metric's name.
    With `where`, only list items (or samples) whose fields equal it are looked at. Then either the
    number of items must be `count`, or the value must equal `equals`, or (`has`) some item must equal it.
    """

    at: str = ""
    equals: Any = None
    count: Optional[int] = None
    has: Any = None
    where: Dict[str, Any] = field(default_factory=dict)


@record
class Gate:
    """A condition that is asked again and again until it holds.

    kind: `http` (GET, `status` and every `expect`), `tcp` (the port of `url` accepts), `gauge`
    (Prometheus text), `complete` (one completion of `model` through an OpenAI-compatible `url` base), `log`
    (the file at `url` has, for every `expect`, `count` lines that are `at`). Times are in seconds.
    """

    kind: str
    url: str
    expect: Tuple[Expect, ...] = ()
    status: int = 200
    model: str = ""
    every: float = 0.1
    patience: float = 5.0


@record
class Stop:
    """How a child is asked to end: `signal` to its group, then KILL after `seconds`."""

    signal: str = "TERM"
    seconds: float = 10.0


@record
class File:
    """A file of the run directory, written when the slots are bound and before anything starts.

    Either `text`, carried to the byte, or `data`, bound first and then encoded as JSON.
    `path` is relative to the run directory; `mode` is the permission bits.
    """

    path: str
    text: Optional[str] = None
    data: Any = None
    mode: int = 0o600


@record
class Child:
    """One process the supervisor starts and watches.

    `env` is set for it; `env_from` names variables taken from the supervisor's own environment (secrets
    travel by name only). `after` names children whose gates must all be open first. A `lasting` child
    must live to the end of the run; the gate of one that does not last is its exit 0. The end of a
    `critical` child (any end of a lasting one, a non-zero end of another) ends the run. A `benchmark` starts
    when the run is ready; once all that are have ended with 0, the run ends with 0.

    In a Slurm allocation the child is an `srun`, and what it starts is on other nodes: `nodes` are indices
    into `Allocation.nodes`, `outputs` the files (in the run directory) that its tasks write there, while `log`
    has what `srun` itself says. `env_prefix` is put before each name of `env_from` on the way to the child. A
    child that is `last` is asked to end when all others are gone.
    """

    name: str
    role: str
    argv: Tuple[str, ...]
    env: Dict[str, str] = field(default_factory=dict)
    env_from: Tuple[str, ...] = ()
    after: Tuple[str, ...] = ()
    gates: Tuple[Gate, ...] = ()
    lasting: bool = True
    critical: bool = True
    stop: Stop = Stop()
    cwd: str = ref("run")
    log: str = ""
    nodes: Tuple[int, ...] = ()
    outputs: Tuple[str, ...] = ()
    env_prefix: str = ""
    last: bool = False
    benchmark: bool = False


@record
class Budgets:
    """Seconds: `ready` until every gate of `Script.ready` is open; `stop` for the whole teardown."""

    ready: float = 600.0
    stop: float = 30.0


@record
class Node:
    """One node of an allocation. `ports` must be free there and `paths` exist before anything starts; Slurm
    must show `gpus` GPUs there as 0, 1, … (masks count so; 0: it does not matter), and steps that were planned
    with `cpus` CPUs are slow with fewer.

    `tell` and, behind it, a signal and names of children (`TERM worker-0 …`) are the words of a step on that
    node that signals the processes whose pids its children noted there.
    """

    ports: Tuple[int, ...] = ()
    paths: Tuple[str, ...] = ()
    gpus: int = 0
    cpus: int = 0
    tell: Tuple[str, ...] = ()


@record
class Root:
    """What a run leaves on its nodes unless somebody takes it away, however the run ends.

    kind: `enroot` (a container by that name) or `directory`. `remove` are the words that do it, on a node
    where it exists and no process is in it any more.
    """

    kind: str
    name: str
    remove: Tuple[str, ...]


@record
class Allocation:
    """What the supervisor must know inside a Slurm job.

    `facts` are the words of one step over all `nodes`, one task each, that prints one line of JSON a node;
    addresses are those of `interface` (empty: of the node's name), and nodes of another machine than `arch`
    (empty: any) are refused. `steps` prints a line `STEP NAME` for
    each step of the job, where NAME is `step_name(child, run)`; `signal` (TERM to every process of a step) and
    `kill` take STEPs behind them. `scrub` are variables that nothing inherits from the job (`SLURM_*` by
    prefix) unless `Script.inherit` names them. `roots` is what the child `janitor` takes away, for which it
    has `grace` seconds once it is told.
    """

    facts: Tuple[str, ...]
    nodes: Tuple[Node, ...]
    steps: Tuple[str, ...]
    signal: Tuple[str, ...]
    kill: Tuple[str, ...]
    arch: str = ""
    interface: str = ""
    scrub: Tuple[str, ...] = ()
    roots: Tuple[Root, ...] = ()
    grace: float = 20.0


def step_name(child: str, run: str) -> str:
    """Slurm's name of a child's step: two runs in one job are told apart by it."""
    return "%s@%s" % (child, run)


@record
class Script:
    """Everything the supervisor executes.

    `slots` names every late reference that must be bound (`ip0`, `host0`, `run`). `inherit` is the
    allow-list of the shell's variables children get (`LC_*` matches by prefix). `ready` is asked once
    all lasting children have started and opened their gates. `last_words` are run by the keeper after
    everything else is gone. `allocation` is None on this machine alone.
    """

    name: str
    slots: Tuple[str, ...]
    children: Tuple[Child, ...]
    files: Tuple[File, ...] = ()
    ready: Tuple[Gate, ...] = ()
    budgets: Budgets = Budgets()
    inherit: Tuple[str, ...] = ()
    last_words: Tuple[Tuple[str, ...], ...] = ()
    url: str = ""
    allocation: Optional[Allocation] = None
    schema: int = SCHEMA


def to_data(value: Any) -> Any:
    """A dataclass tree as JSON-ready lists and dictionaries."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_data(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_data(item) for item in value]
    if isinstance(value, dict):
        return {key: to_data(item) for key, item in value.items()}
    return value


def dump(script: Script) -> str:
    """The Script as JSON text; `load(dump(s)) == s`."""
    return json.dumps(to_data(script), ensure_ascii=True, indent=1)


def load(text: str) -> Script:
    """The Script that `dump` wrote, of this release or an earlier one: what that did not know yet has its default.

    Raises ValueError for another schema or a broken text.
    """
    raw = json.loads(text)
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        raise ValueError("not a script of schema %d" % SCHEMA)
    try:
        return Script(**_read(raw, _SCRIPT))
    except (KeyError, TypeError) as error:
        raise ValueError("not a script: %s" % error) from error


def _read(raw: Mapping[str, Any], readers: Mapping[str, Callable[[Any], Any]]) -> Dict[str, Any]:
    """The fields that are there, each as its reader makes it; those that are not have their defaults."""
    return {key: readers[key](value) if key in readers else value for key, value in raw.items()}


def _each(read: Callable[[Any], Any]) -> Callable[[Any], Tuple[Any, ...]]:
    return lambda items: tuple(map(read, items))


def _tuples(raw: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: tuple(item) if isinstance(item, list) else item for key, item in raw.items()}


_GATE: Mapping[str, Callable[[Any], Any]] = {"expect": _each(lambda item: Expect(**item))}
_GATES = _each(lambda item: Gate(**_read(item, _GATE)))
_CHILD: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("argv", "env_from", "after", "nodes", "outputs"), tuple),
    "gates": _GATES,
    "stop": lambda item: Stop(**item),
}
_ALLOCATION: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("facts", "steps", "signal", "kill", "scrub"), tuple),
    "nodes": _each(lambda item: Node(**_tuples(item))),
    "roots": _each(lambda item: Root(**_tuples(item))),
}
_SCRIPT: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("slots", "inherit"), tuple),
    "children": _each(lambda item: Child(**_read(item, _CHILD))),
    "files": _each(lambda item: File(**item)),
    "ready": _GATES,
    "budgets": lambda item: Budgets(**item),
    "last_words": _each(tuple),
    "allocation": lambda item: None if item is None else Allocation(**_read(item, _ALLOCATION)),
}
