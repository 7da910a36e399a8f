"""Where a key's value comes from: every layer that set it, lowest first."""

import json
from typing import Any

from launcher.cli.table import table
from launcher.model.explain import explain
from launcher.model.job import Job
from launcher.text.diagnostic import Place
from launcher.text.secret import mask, shown


def chain(job: Job, key: str, *, color: bool = False) -> str:
    """A table of the layers that set `key` (dotted), the winner last. Raises `Refused` for a key nobody set.

    Of a table no layer wins: it is merged, and each of its keys has a winner of its own.
    """
    name = key.rpartition(".")[2].strip("\"'")
    settings = explain(job, key)
    rows = [(setting.layer, _told(name, setting.value), _where(setting.place)) for setting in settings]
    if len(rows) > 1 and all(isinstance(setting.value, dict) for setting in settings):
        drawn = table(("set by", "value", "where"), rows, color=color)
        return f"{drawn}\nThese are merged, key by key: ask for `{key}.KEY` to see which one counts."
    rows[-1] = (*rows[-1][:2], f"{rows[-1][2]}  ← this one counts")
    return table(("set by", "value", "where"), rows, color=color)


def _told(name: str, value: Any) -> str:
    hidden = shown(name, value) if isinstance(value, str) else value
    return mask(json.dumps(hidden, ensure_ascii=False, default=str))


def _where(place: Place) -> str:
    line, column = place.document.line_column(place.span().start)
    return f"{place.document.name}:{line}:{column}"
