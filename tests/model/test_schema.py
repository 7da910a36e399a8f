"""JSON Schemas and models accept and refuse the same documents."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from launcher.model.schema import DRAFT, MODELS, schemas
from tests.model.mutation import SAMPLES, mutated

SCHEMAS = schemas()


def toml(checker: Any, value: Any) -> bool:
    """TOML tells integers from floats, which JSON Schema does not."""
    return isinstance(value, int) and not isinstance(value, bool)


def pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """As ECMA reads `$`: only at the end, not before a last line feed."""
    if isinstance(value, str) and not re.search(wanted.replace("$", r"\Z"), value):
        yield jsonschema.ValidationError(f"{value!r} does not match")


VALIDATOR = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator,
    {"pattern": pattern},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", toml),
)


def accepted(kind: str, document: Mapping[str, Any]) -> bool:
    try:
        MODELS[kind].model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("kind", SAMPLES)
def test_schemas_are_schemas(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])
    assert SCHEMAS[kind]["$schema"] == DRAFT


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_sample_is_accepted_and_has_every_key(kind: str) -> None:
    assert accepted(kind, SAMPLES[kind])
    assert set(SAMPLES[kind]) == set(SCHEMAS[kind]["properties"])


@pytest.mark.parametrize("examples", [100, pytest.param(1500, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("kind", SAMPLES)
def test_models_and_schemas_agree(kind: str, examples: int) -> None:
    validator = VALIDATOR(SCHEMAS[kind])
    counts: Counter[bool] = Counter()

    @settings(max_examples=examples)
    @given(mutated(SAMPLES[kind]))
    def agree(document: dict[str, Any]) -> None:
        expected = accepted(kind, document)
        counts[expected] += 1
        assert validator.is_valid(document) is expected

    agree()
    assert min(counts[True], counts[False]) > 3


def test_no_key_is_without_description() -> None:
    for kind, schema in SCHEMAS.items():
        for table in (schema, *schema.get("$defs", {}).values()):
            for key, value in table.get("properties", {}).items():
                assert value.get("description"), f"{kind}: {key}"
