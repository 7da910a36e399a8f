"""Whether an answer is what a gate expects: JSON bodies and Prometheus samples, no router's logic."""

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional

from launcher.run.script import Expect

_MISSING = object()
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_PAIR = r'\s*[A-Za-z_][A-Za-z0-9_]*\s*=\s*"(?:[^"\\]|\\.)*"\s*(?:,\s*|(?=\}))'
_SAMPLE = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\s*\{((?:%s)*)\})?\s+(\S+)(?:\s+-?\d+)?\s*" % _PAIR)
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}


class Sample(NamedTuple):
    """One line of Prometheus text."""

    name: str
    labels: Dict[str, str]
    value: float


def samples(text: str) -> List[Sample]:
    """The samples of a Prometheus text (exposition format 0.0.4); lines that are none are passed over."""
    found = []
    for line in text.splitlines():
        match = _SAMPLE.fullmatch(line)
        if match:
            try:
                value = float(match.group(3))
            except ValueError:
                continue
            found.append(Sample(match.group(1), _labels(match.group(2) or ""), value))
    return found


def unmet(expect: Expect, body: Any) -> Optional[str]:
    """Why a JSON body is not as expected, in words; None when it is."""
    name = "`%s`" % expect.at if expect.at else "the body"
    value = _find(body, expect.at)
    if value is _MISSING:
        return "%s is not in the answer" % name
    if expect.where:
        if not isinstance(value, list):
            return "%s is no list" % name
        name += " where " + ", ".join("%s = %s" % (key, json.dumps(item)) for key, item in expect.where.items())
        value = [item for item in value if all(same(_find(item, key), want) for key, want in expect.where.items())]
    return _unmet(name, value, expect)


def unmet_gauge(expect: Expect, found: List[Sample]) -> Optional[str]:
    """Why the samples of the metric `expect.at` are not as expected; None when they are.

    With `equals` every sample that `where` leaves must have the value; without any wish one must be there.
    """
    name = "`%s`" % expect.at
    if expect.where:
        name += "{%s}" % ", ".join('%s="%s"' % (key, _label(item)) for key, item in expect.where.items())
    values = [
        sample.value
        for sample in found
        if sample.name == expect.at
        and all(sample.labels.get(key) == _label(want) for key, want in expect.where.items())
    ]
    if not values and expect.count is None:
        return "%s is not in the answer" % name
    wanted = Expect(expect.at, expect.equals, expect.count, expect.has, {"": True})
    return _unmet(name, values, wanted)


def same(value: Any, wanted: Any) -> bool:
    """Equality of JSON values: unlike Python's, `true` is not 1."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(same, value, wanted))
    if isinstance(value, dict) and isinstance(wanted, dict):
        return value.keys() == wanted.keys() and all(same(value[key], wanted[key]) for key in value)
    return bool(value == wanted)


def _unmet(name: str, value: Any, expect: Expect) -> Optional[str]:
    several = isinstance(value, (list, dict))
    if expect.count is not None and (not several or len(value) != expect.count):
        return "%s has %s, wanted %d" % (name, len(value) if several else "no items", expect.count)
    if expect.equals is not None:
        items = value if expect.where else [value]
        if not items or not all(same(item, expect.equals) for item in items):
            return "%s is %s, wanted %s" % (name, _short(value), _short(expect.equals))
    if expect.has is not None and not (isinstance(value, list) and any(same(item, expect.has) for item in value)):
        return "%s is %s, wanted %s in it" % (name, _short(value), _short(expect.has))
    if expect.where and not value and expect.count is None:
        return "%s: there is none" % name
    return None


def _find(value: Any, path: str) -> Any:
    """What stands at a dotted path; a key that itself holds dots is found too."""
    if path == "":
        return value
    if isinstance(value, dict):
        if path in value:
            return value[path]
        head, _, rest = path.partition(".")
        return _find(value[head], rest) if rest and head in value else _MISSING
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        return _find(value[int(head)], rest) if head.isdigit() and int(head) < len(value) else _MISSING
    return _MISSING


def _labels(text: str) -> Dict[str, str]:
    return {
        name: re.sub(r'\\[n"\\]', lambda found: _ESCAPES[found.group()], value) for name, value in _LABEL.findall(text)
    }


def _label(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."
