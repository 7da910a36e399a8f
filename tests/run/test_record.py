"""Records against what `dataclasses` makes of the same class."""

import copy
import pickle
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import pytest

from launcher.run.record import mutable, record

Maker = Callable[[type], type]


def made(maker: Any) -> Any:
    """A class of every kind of field, made by `maker`."""

    @maker
    class Made:
        """A Made."""

        name: str
        count: int = 1
        items: list[int] = field(default_factory=list)
        hidden: str = field(default="", repr=False)
        aside: int = field(default=0, compare=False)

        @cached_property
        def twice(self) -> int:
            return self.count * 2

    return Made


@record
class Point:
    """At module level, so that it can be pickled."""

    x: int
    y: float = 0.0


@record
class Alone:
    """One field."""

    x: Any


@record
class Nothing:
    """No field."""


@record
class Further(Point):
    """A record on another."""

    z: int = 3


KINDS = [(record, dataclass(frozen=True)), (mutable, dataclass)]


@pytest.mark.parametrize(("ours", "theirs"), KINDS, ids=["record", "mutable"])
def test_it_is_the_dataclass_of_the_same_class(ours: Maker, theirs: Maker) -> None:
    mine, other = made(ours), made(theirs)
    for words, named in (((1,), {}), ((1, 2, [3]), {"aside": 4}), ((), {"name": "a", "hidden": "b"})):
        assert repr(mine(*words, **named)) == repr(other(*words, **named))
        assert vars(mine(*words, **named)) == vars(other(*words, **named))
    assert [each.name for each in fields(mine)] == [each.name for each in fields(other)]
    assert (mine.__match_args__, mine.__doc__) == (other.__match_args__, other.__doc__)
    assert is_dataclass(mine)


@pytest.mark.parametrize(("ours", "theirs"), KINDS, ids=["record", "mutable"])
@pytest.mark.parametrize(
    ("words", "named"),
    [((), {}), ((1, 2, [], "", 0, 6), {}), ((1,), {"name": 2}), ((1,), {"nobody": 2})],
    ids=["missing", "many", "twice", "unknown"],
)
def test_wrong_arguments_are_refused_in_the_same_words(
    ours: Maker, theirs: Maker, words: tuple[Any, ...], named: dict[str, Any]
) -> None:
    said = []
    for cls in (made(ours), made(theirs)):
        with pytest.raises(TypeError) as caught:
            cls(*words, **named)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("maker", [record, mutable])
def test_equal_are_those_of_one_class_with_equal_fields(maker: Maker) -> None:
    one, other = made(maker), made(maker)
    assert one("a", aside=1) == one("a", aside=2)
    assert one("a") != one("b")
    assert one("a") != other("a")
    assert one("a") != "a"


@pytest.mark.parametrize(("cls", "words"), [(Point, (1, 2.0)), (Alone, ("a",)), (Nothing, ()), (Further, (1, 2.0, 4))])
def test_equal_records_have_one_hash(cls: type, words: tuple[Any, ...]) -> None:
    assert cls(*words) == cls(*words)
    assert hash(cls(*words)) == hash(cls(*words)) == hash(words)


def test_a_record_does_not_change() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert point == Point(1)


def test_a_mutable_one_does_and_has_no_hash() -> None:
    one = made(mutable)("a")
    one.count = 5
    assert one.count == 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("maker", [record, mutable])
def test_each_object_has_its_own_default_container_and_its_own_cache(maker: Maker) -> None:
    cls = made(maker)
    one, other = cls("a"), cls("b", 4)
    one.items.append(1)
    assert (other.items, one.twice, other.twice) == ([], 2, 8)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), replace])
def test_copies_are_equal(copied: Callable[[Any], Any]) -> None:
    assert copied(Further(1, 2.0, 5)) == Further(1, 2.0, 5)


def test_replacing_changes_what_is_named() -> None:
    assert replace(Point(1, 2.0), x=3) == Point(3, 2.0)
    assert (Further(1).z, repr(Further(1))) == (3, "Further(x=1, y=0.0, z=3)")


def test_what_contains_itself_can_be_shown() -> None:
    one = Alone([])
    one.x.append(one)
    assert repr(one) == "Alone(x=[...])"


def test_methods_of_its_own_stay() -> None:
    class Own:
        """Equal to itself alone."""

        x: int
        __eq__ = object.__eq__
        __hash__ = object.__hash__

        def __repr__(self) -> str:
            return "own"

    cls: Any = record(Own)
    assert (cls(1) == cls(1), repr(cls(1)), len({cls(1), cls(1)})) == (False, "own", 2)


def test_the_first_may_be_made_by_many_at_once() -> None:
    cls = made(record)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(cls("a", 2))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cls("a", 2)] * 8


def test_what_would_be_left_undone_is_refused() -> None:
    class Late:
        """It wants to be told."""

        x: int

        def __post_init__(self) -> None:
            raise AssertionError("never called")

    with pytest.raises(TypeError, match="__post_init__"):
        record(Late)
