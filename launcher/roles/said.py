"""Ports that a recipe's own words name. Nobody allocates them, and programs listen there all the same.

vLLM (0.11 to 0.33) publishes KV events where an endpoint has a `*` or `::`, SGLang (0.5.23) at 0.0.0.0 too; each rank
adds its number. Told no endpoint, both take `tcp://*:5557`.
"""

import re
from collections.abc import Iterator

from launcher.model.given import Given
from launcher.model.job import Role
from launcher.run.record import record

EVENTS = "kv-events-config"
"""The flag of both that says how KV events are published."""

_DEFAULT = "tcp://*:5557"
_BOUND = re.compile(r"tcp://(?:\*|\[?::\]?|0\.0\.0\.0):([0-9]{1,5})")
_HIGHEST = 65535


@record
class Spoken:
    """One port: `name` is what it goes by in a plan, `word` the flag or variable that names it, `at` its path in the
    role. Where it is `ranked` each data-parallel rank adds its number.
    """

    name: str
    word: str
    at: tuple[str | int, ...]
    first: int
    ranked: bool = False


def said(role: Role) -> Iterator[Spoken]:
    """The ports that flags and variables of a role name, in no range of ours."""
    given = Given(role)
    yield from _published(given)
    for flag in role.manifest.listens:
        number = given.number(flag, 0)
        if 0 < number <= _HIGHEST:
            yield Spoken(_plain(flag), flag, given.at(flag), number)
    for name in role.manifest.listens_env:
        value = role.env.get(name, "")
        if value.isascii() and value.isdigit() and 0 < int(value) <= _HIGHEST:
            yield Spoken(_plain(name), name, ("env", name), int(value))


def _published(given: Given) -> Iterator[Spoken]:
    """The ports on which the first rank publishes and replays KV events."""
    table = given.table(EVENTS)
    # vLLM publishes once it is told to make events, SGLang once it is told of a publisher.
    if not table or table.get("publisher", "zmq" if table.get("enable_kv_cache_events") else None) in (None, "null"):
        return
    for field, default in (("endpoint", _DEFAULT), ("replay_endpoint", None)):
        bound = _BOUND.fullmatch(str(table.get(field, default)))
        if bound:
            yield Spoken(_plain(f"{EVENTS}-{field}"), EVENTS, given.at(EVENTS), int(bound[1]), ranked=True)


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")
