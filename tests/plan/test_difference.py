"""What two plans have not in common: nothing is missed, nothing is made up."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from launcher.plan.difference import GROUPS, data, difference
from launcher.plan.plan import plan
from launcher.run.script import to_data
from tests.jobs import adapters, job, role, router


def planned(**worker: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(to_data(plan(job(role("worker", **worker), router()), adapters()))))
    return made


ONE, TWO = planned(replicas=1), planned(replicas=2, env={"A": "1"})


def test_one_more_replica_and_a_variable() -> None:
    found = difference(ONE, TWO)
    assert not found.equal
    assert list(found.plan) == ["ready"]
    steps = found.groups["steps"]
    assert (list(steps.added), list(steps.removed)) == (["worker-1"], [])
    assert steps.changed["worker-0"] == {"env.A": (None, "1")}
    assert {"words", "after", "gates"} <= set(steps.changed["router"])
    assert list(found.groups["endpoints"].added) == list(found.groups["targets"].added) == ["worker-1"]
    assert set(found.groups["files"].changed) == {"workers.json", "scrape.json"}


def test_the_other_way_round_it_is_the_reverse() -> None:
    there, back = difference(ONE, TWO), difference(TWO, ONE)
    assert {key: change[::-1] for key, change in there.plan.items()} == dict(back.plan)
    for key in GROUPS:
        assert there.groups[key].added == back.groups[key].removed
        assert there.groups[key].removed == back.groups[key].added
        assert {
            name: {field: change[::-1] for field, change in fields.items()}
            for name, fields in there.groups[key].changed.items()
        } == back.groups[key].changed


def test_as_data() -> None:
    told = data(difference(ONE, ONE), "a", "b")
    empty: dict[str, object] = {"added": [], "removed": [], "changed": {}}
    assert told == {
        "schema": 1, "before": "a", "after": "b", "equal": True, "plan": {}, **dict.fromkeys(GROUPS, empty),
    }  # fmt: skip
    assert data(difference(ONE, TWO), "a", "b")["steps"]["changed"]["worker-0"] == {
        "env.A": {"before": None, "after": "1"}
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        inner = [place for key, item in value.items() for place in places(item, (*path, key))]
    elif isinstance(value, list):
        inner = [place for index, item in enumerate(value) for place in places(item, (*path, index))]
    else:
        inner = []
    return [*([path] if path else []), *inner]


@given(st.sampled_from(places(TWO)), st.sampled_from([None, "changed", [], {}, 7]))
def test_any_change_is_told(path: tuple[Any, ...], value: Any) -> None:
    changed = copy.deepcopy(TWO)
    at: Any = changed
    for part in path[:-1]:
        at = at[part]
    before, at[path[-1]] = at[path[-1]], value
    # A group without its list, or an item without its name, is no plan.
    if path[0] in GROUPS and (len(path) <= 2 or path[2] == GROUPS[path[0]][1]):
        return
    assert difference(TWO, changed).equal is (before == value)
