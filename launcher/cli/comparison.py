"""`launch plan RECIPE --diff RUN|RECIPE`: what changed from a run's plan, or another recipe's, to this one."""

import argparse
import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from launcher.cli import arguments, stages
from launcher.cli.terminal import Terminal, paint
from launcher.cli.view import expectation, size, words
from launcher.execute.journal import PLAN, find, unreadable
from launcher.execute.library import Files
from launcher.execute.world import Real
from launcher.model import timelimit
from launcher.model.source import split
from launcher.plan.difference import GROUPS, Change, Difference, data, difference
from launcher.plan.plan import plan
from launcher.plan.step import Plan
from launcher.run.script import SCHEMA, Expect, shown, to_data
from launcher.text.secret import mask
from launcher.text.secret import shown as told

DIFFER = 1
"""Exit code where the plans differ, as of diff(1)."""

_SHOWN = ("steps", "files")
"""Groups that people are shown: files tell of endpoints (`workers.json`) and targets (`scrape.json`) already."""


def run(args: argparse.Namespace, terminal: Terminal, made: Plan, documents: Files) -> int:
    """Prints the difference; returns 0 where there is none, else `DIFFER`."""
    name, before = other(args, documents)
    found = difference(before, json.loads(json.dumps(to_data(made))))
    if args.json:
        terminal.say(json.dumps(data(found, name, args.recipe), indent=1))
    elif found.equal:
        terminal.note(f"`{args.recipe}` and `{name}` have the same plan")
    else:
        terminal.say("\n".join(lines(found, name, args.recipe, color=terminal.color_out)))
    return 0 if found.equal else DIFFER


def other(args: argparse.Namespace, documents: Files) -> tuple[str, Mapping[str, Any]]:
    """Name and plan of what is compared with: a recipe (a file, or a shipped one), else a run. Raises Refused.

    `--cluster` holds for both, `--set` and `--unset` only for the recipe that comes first.
    """
    word: str = args.diff
    path = split(word)[0]
    if "/" in path or path.endswith(".toml") or path in documents.recipes():
        checked = stages.accepted(replace(arguments.request(args, word), edits=()), documents)
        return word, json.loads(json.dumps(to_data(plan(checked.job, checked.adapters))))
    found = find(Real(), word)
    file = found.path / PLAN
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"it has schema {document['schema']}, and this version writes {SCHEMA}")
        return found.name, dict(document["plan"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise unreadable(file, error) from error


def lines(found: Difference, before: str, after: str, *, color: bool = False) -> Iterator[str]:
    """The difference for people: `-` is what was, `+` what is; values that look like secrets are masked."""
    yield _line("-", f"-- {before}", color)
    yield _line("+", f"++ {after}", color)
    # What makes the run ready are the gates of its steps.
    whole = {name: change for name, change in found.plan.items() if name != "ready" or not found.groups["steps"]}
    if whole:
        yield paint("plan", "1", color)
        yield from _fields(whole, color)
    for key in _SHOWN:
        group, what = found.groups[key], GROUPS[key][0]
        for sign, items in (("-", group.removed), ("+", group.added)):
            for name, item in items.items():
                yield _line(sign, f" {what} {shown(name)}", color)
                yield from (_line(sign, f"   {text}", color) for text in _texts(item.get("words", ()), words_=True))
        for name, changed in group.changed.items():
            yield paint(f"{what} {shown(name)}", "1", color)
            yield from _fields(changed, color)


def _fields(changed: Mapping[str, Change], color: bool) -> Iterator[str]:
    for name, (before, after) in changed.items():
        yield f"  {name}"
        old, new = (_texts(_readable(name, value), words_=name == "words") for value in (before, after))
        for line in list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]:
            if not line.startswith("@@"):
                yield _line(line[0], f"   {line[1:]}", color)


def _readable(name: str, value: Any) -> Any:
    """A field's value as people may read it, and with its unit."""
    if isinstance(value, str):
        return told(name.rpartition(".")[2], value)
    if name == "batch.components" and isinstance(value, list):
        return [{key: _readable(key, item) for key, item in each.items()} for each in value]
    return _UNITS[name](value) if name in _UNITS and isinstance(value, int | float) else value


_UNITS: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("timeout", "stop.seconds"), "{:g} s".format),
    "batch.time": timelimit.spelt,
    "memory": size,
}
"""Field of a plan or step → how it is told."""


def _texts(value: Any, *, words_: bool = False) -> Sequence[str]:
    """A value as lines that can be compared one by one."""
    if value is None or value in ((), [], {}):
        return []
    if words_:
        made = list(words(value))
    elif isinstance(value, str):
        made = value.split("\n")
    elif isinstance(value, list):
        made = [line for item in value for line in _item(item)]
    elif isinstance(value, Mapping):
        made = _json(value, indent=1).split("\n")
    else:
        made = [_json(value)]
    return [shown(mask(text)) for text in made]


def _item(item: Any) -> Iterator[str]:
    """An item of a list: text as it is, a gate by what it wants, anything else as JSON."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, Mapping) and {"kind", "url", "expect"} <= set(item):
        yield f"{item['kind']} {item['url']}"
        for raw in item["expect"]:
            known = {field.name: raw[field.name] for field in fields(Expect) if field.name in raw}
            yield f"{item['url']}: {expectation(Expect(**known))}"
    else:
        yield _json(item)


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(_said(value), indent=indent, ensure_ascii=False)


def _said(value: Any) -> Any:
    """A value without the fields that say nothing."""
    if isinstance(value, Mapping):
        return {key: _said(item) for key, item in value.items() if item not in (None, "", [], {})}
    return [_said(item) for item in value] if isinstance(value, list) else value


def _line(sign: str, text: str, color: bool) -> str:
    return paint(f"{sign}{text}", {"-": "31", "+": "32"}[sign], color)
