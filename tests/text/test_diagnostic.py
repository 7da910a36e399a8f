"""Findings, their places and their order."""

import pytest

from launcher.text.diagnostic import Diagnostic, Place, Severity, errors, ordered
from launcher.text.document import Document, Span
from launcher.text.parse import assignment, parse

ONE = parse("a.toml", "a = 1\nb = { c = 2 }\n")
TWO = parse("b.toml", "a = 1\n")

PLACES = [
    (Place(ONE), Span(0, 0), True),
    (Place(ONE, ("x",)), Span(0, 0), True),
    (Place(ONE, ("a",)), Span(4, 5), False),
    (Place(ONE, ("a",), "key"), Span(0, 1), False),
    (Place(ONE, ("b", "x")), Span(6, 7), False),
    (Place(ONE, offset=0), Span(0, 1), False),
    (Place(ONE, offset=4, length=3), Span(4, 7), False),
    (Place(ONE, offset=99), Span(len(ONE.text), len(ONE.text)), False),
    (Place(Document("e", "", {}), offset=0), Span(0, 0), False),
    (Place(assignment("a="), ("a",)), Span(2, 2), False),
]


@pytest.mark.parametrize(("place", "span", "whole"), PLACES)
def test_place(place: Place, span: Span, whole: bool) -> None:
    assert (place.span(), place.whole) == (span, whole)


def test_ordered_by_document_position_severity_and_code() -> None:
    here = Place(ONE, ("a",))
    expected = [
        Diagnostic("z", "m", None),
        Diagnostic("y", "m", Place(ONE)),
        Diagnostic("x", "m", here),
        Diagnostic("y", "a", here),
        Diagnostic("y", "b", here),
        Diagnostic("a", "m", here, Severity.WARNING),
        Diagnostic("a", "m", Place(ONE, ("b",))),
        Diagnostic("a", "m", Place(TWO, ("a",))),
    ]
    assert ordered(expected[::-1]) == ordered(expected[4:] + expected[:4]) == expected


def test_errors_are_what_refuses() -> None:
    wrong, doubtful = Diagnostic("c", "m", None), Diagnostic("c", "m", None, Severity.WARNING)
    assert errors([doubtful, wrong]) == [wrong]
