"""Where a key's value comes from: every layer that set it, lowest first."""

import json

from launcher.cli.table import table
from launcher.model.explain import explain
from launcher.model.job import Job
from launcher.text.diagnostic import Place


def chain(job: Job, key: str, *, color: bool = False) -> str:
    """A table of the layers that set `key` (dotted), the winner last. Raises `Refused` for a key nobody set."""
    rows = [
        (setting.layer, json.dumps(setting.value, ensure_ascii=False, default=str), _where(setting.place))
        for setting in explain(job, key)
    ]
    rows[-1] = (*rows[-1][:2], f"{rows[-1][2]}  ← this one counts")
    return table(("set by", "value", "where"), rows, color=color)


def _where(place: Place) -> str:
    line, column = place.document.line_column(place.span().start)
    return f"{place.document.name}:{line}:{column}"
