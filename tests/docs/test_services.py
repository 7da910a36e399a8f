"""The stand-ins for CI services read conditions as the services do."""

from typing import Any

import pytest

from tests.docs.services import expression

CONTEXT = {"github": {"event_name": "push", "event": {"number": 7}}, "needs": {"a": {"result": "skipped"}}, "vars": {}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("github.event_name", "push"),
        ("github.event_name == 'PUSH'", True),
        ("github.event.nothing.at_all", None),
        ("vars.RUNNER || 'ubuntu'", "ubuntu"),
        ("github.event_name == 'push' && 'a' || 'b'", "a"),
        ("github.event_name != 'push' && 'a' || 'b'", "b"),
        ("!cancelled() && (needs.a.result == 'success' || needs.a.result == 'skipped')", True),
        ("format('ghcr.io/{0}', github.event_name)", "ghcr.io/push"),
        ("fromJSON('{\"include\":[1]}').include", ValueError),
        ("github.event.number == 7", True),
        ("needs.a.result == ''", False),
        ("vars.nothing == ''", True),
        ("'it''s'", "it's"),
        ("a +", ValueError),
    ],
)
def test_github(text: str, value: Any) -> None:
    functions = {"cancelled": lambda: False}
    if value is ValueError:
        with pytest.raises(ValueError, match="not understood"):
            expression.github(text, CONTEXT, functions)
    else:
        assert expression.github(text, CONTEXT, functions) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a ${{ github.event_name }} b ${{ github.event.number }}", "a push b 7"),
        ("${{ fromJSON('[1]') }}", [1]),
        ("${{ vars.nothing }}", None),
        (3, 3),
    ],
)
def test_filled(text: Any, value: Any) -> None:
    assert expression.filled(text, CONTEXT, {}) == value


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('$CI_PIPELINE_SOURCE == "push"', True),
        ('$CI_PIPELINE_SOURCE != "push"', False),
        ("$NOTHING == null", True),
        ("$NOTHING", False),
        ("$EMPTY", False),
        ("$A == $B && $CI_PIPELINE_SOURCE", True),
        ('$A == $B && $CI_PIPELINE_SOURCE == "parent_pipeline"', False),
    ],
)
def test_gitlab(text: str, holds: bool) -> None:
    variables = {"CI_PIPELINE_SOURCE": "push", "EMPTY": "", "A": "x", "B": "x"}
    assert expression.gitlab(text, variables) is holds
