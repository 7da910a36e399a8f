"""Types of JSON values: what is right, what is wrong, where and why; and the same as pydantic says."""

import json
from dataclasses import field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from launcher.model.jsontype import Fault, mismatch, unjson

TYPES = {
    "Transfer": {
        "fields": {
            "kv_connector": ["none", {"open": ["Nixl", "Mooncake"]}],
            "kv_role": ["none", {"one": ["kv_producer", "kv_consumer", "kv_both"]}],
            "kv_port": {"int": [1, 65535]},
            "share": {"float": [0, None]},
            "extra": {"map": "any"},
            "sizes": {"list": "int"},
            "child": ["none", {"is": "Transfer"}],
            "mode": [{"one": [0, 3]}, {"word": ["off", "fast_one"]}],
            "on": "bool",
            "text": "str",
        },
        "needs": [],
        "more": "refused",
        "with": {"kv_connector": {"kv_role": []}, "text=x": {"kv_role": ["kv_both"]}},
    },
    "Loose": {"fields": {"name": "str"}, "needs": ["name"], "more": "ignored"},
    "Open": {"fields": {"name": "str"}, "needs": [], "more": "kept"},
}
FIELDS = tuple(TYPES["Transfer"]["fields"])
TRANSFER = {"is": "Transfer"}

RIGHT = [
    (TRANSFER, {}),
    (TRANSFER, {"kv_connector": "Nixl", "kv_role": "kv_both"}),
    (TRANSFER, {"kv_connector": None}),
    (TRANSFER, {"kv_port": 9}),
    (TRANSFER, {"kv_port": "9"}),
    (TRANSFER, {"kv_port": 9.0}),
    (TRANSFER, {"extra": {"anything": [1]}}),
    (TRANSFER, {"sizes": [1, 2], "child": {"sizes": []}}),
    (TRANSFER, {"mode": 3}),
    (TRANSFER, {"mode": "Fast-One"}),
    (TRANSFER, {"on": "yes", "text": ""}),
    ({"is": "Loose"}, {"name": "x"}),
    ({"is": "Open"}, {"anything": 1}),
    ("any", object),
    ("float", "1e3"),
]


@pytest.mark.parametrize(("wanted", "value"), RIGHT, ids=lambda item: repr(item)[:40])
def test_what_is_right_has_no_fault(wanted: Any, value: Any) -> None:
    assert list(mismatch(TYPES, wanted, value)) == []


WRONG: list[tuple[Any, Any, Fault]] = [
    (TRANSFER, 5, Fault((), "wants a table, not 5")),
    (
        TRANSFER,
        {"kv_rol": "kv_both"},
        Fault(("kv_rol",), "has no field `kv_rol`", part="key", among=FIELDS, word="kv_rol"),
    ),
    (
        TRANSFER,
        {"child": {"kv_rol": 1}},
        Fault(("child", "kv_rol"), "has no field `kv_rol`", part="key", among=FIELDS, word="kv_rol"),
    ),
    (
        TRANSFER,
        {"kv_role": "producer"},
        Fault(
            ("kv_role",), "has no choice `producer`", among=("kv_producer", "kv_consumer", "kv_both"), word="producer"
        ),
    ),
    (TRANSFER, {"kv_port": 0}, Fault(("kv_port",), "wants 1 or more, not 0")),
    (TRANSFER, {"kv_port": 70000}, Fault(("kv_port",), "wants 65535 or less, not 70000")),
    (TRANSFER, {"kv_port": "a"}, Fault(("kv_port",), "wants a whole number, not `a`")),
    (TRANSFER, {"kv_port": 1.5}, Fault(("kv_port",), "wants a whole number, not 1.5")),
    (TRANSFER, {"share": []}, Fault(("share",), "wants a number, not a list")),
    (TRANSFER, {"extra": []}, Fault(("extra",), "wants a table, not a list")),
    (TRANSFER, {"sizes": 1}, Fault(("sizes",), "wants a list, not 1")),
    (TRANSFER, {"sizes": [1, "x"]}, Fault(("sizes", 1), "wants a whole number, not `x`")),
    (TRANSFER, {"on": "maybe"}, Fault(("on",), "wants `true` or `false`, not `maybe`")),
    (TRANSFER, {"text": True}, Fault(("text",), "wants a string, not `true`")),
    (
        TRANSFER,
        {"mode": 2},
        Fault(("mode",), "wants `0` or `3` or `off` or `fast_one`, not 2", among=("0", "3", "off", "fast_one")),
    ),
    (
        TRANSFER,
        {"kv_connector": "Nixl"},
        Fault(("kv_connector",), "needs `kv_role` beside it", part="key"),
    ),
    (
        TRANSFER,
        {"text": "x", "kv_role": "kv_producer"},
        Fault(("text",), "needs `kv_role` `kv_both` beside it", part="key"),
    ),
    (
        TRANSFER,
        {"kv_connector": "Own", "kv_role": "kv_both"},
        Fault(("kv_connector",), "knows no `Own`", among=("Nixl", "Mooncake"), word="Own", sure=False),
    ),
    ({"is": "Loose"}, {}, Fault((), "lacks the field `name`")),
    (
        {"is": "Loose"},
        {"name": "x", "nam": 1},
        Fault(("nam",), "has no field `nam`, and ignores it", part="key", among=("name",), word="nam", sure=False),
    ),
    (["int", "none"], "x", Fault((), "wants a whole number, not `x`")),
    (["int", "bool"], "x", Fault((), "wants a whole number or `true` or `false`, not `x`", word="x")),
]


@pytest.mark.parametrize(("wanted", "value", "fault"), WRONG, ids=lambda item: repr(item)[:40])
def test_what_is_wrong_says_where_and_why(wanted: Any, value: Any, fault: Fault) -> None:
    assert list(mismatch(TYPES, wanted, value)) == [fault]


def test_every_fault_is_found() -> None:
    found = mismatch(TYPES, TRANSFER, {"sizes": ["a", 1, "b"], "kv_port": 0, "zz": 1})
    assert [fault.path for fault in found] == [("sizes", 0), ("sizes", 2), ("kv_port",), ("zz",)]


@dataclass(config={"extra": "forbid"})
class Theirs:
    """The same as `OURS`, to pydantic."""

    a: int = 0
    b: float | None = None
    c: Literal["x", "y"] = "x"
    d: list[bool] = field(default_factory=list)
    e: dict[str, str] = field(default_factory=dict)
    f: int = Field(default=1, ge=1, le=9)


OURS = {
    "Theirs": {
        "fields": {
            "a": "int",
            "b": ["float", "none"],
            "c": {"one": ["x", "y"]},
            "d": {"list": "bool"},
            "e": {"map": "str"},
            "f": {"int": [1, 9]},
        },
        "needs": [],
        "more": "refused",
    }
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3)
    | st.sampled_from(["x", "y", "1", "1.0", "1_0", "true", "No", "1e3", "nan", " 1"])
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text(max_size=2), SCALARS, max_size=2)


@given(st.dictionaries(st.sampled_from("abcdefg"), VALUES, max_size=3))
def test_pydantic_says_the_same(value: Any) -> None:
    try:
        TypeAdapter(Theirs).validate_json(json.dumps(value))
    except ValidationError:
        taken = False
    else:
        taken = True
    assert taken is (list(mismatch(OURS, {"is": "Theirs"}, value)) == []), value


def test_toml_has_values_that_json_has_not() -> None:
    found = list(unjson((), {"a": [float("nan"), 1], "b": {"c": float("inf")}}))
    assert [(fault.path, fault.phrase) for fault in found] == [
        (("a", 0), "wants JSON, and `nan` has no form there"),
        (("b", "c"), "wants JSON, and `inf` has no form there"),
    ]
