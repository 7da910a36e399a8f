"""Every key of every file, misspelt: the finding names the one that was meant."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from launcher.model.schema import MODELS
from launcher.model.shape import read
from launcher.text.diagnostic import Place
from launcher.text.document import Document, KeyPath
from launcher.text.suggest import Suggestions
from tests.model.mutation import SAMPLES

SHORT = 4
"""Letters of a key that may be nearer to another one when it is misspelt."""


def keys(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key of a document."""
    for part, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(part, str):
            yield (*path, part)
        yield from keys(item, (*path, part))


def misspelt(key: str) -> Iterator[str]:
    """The key with a letter left out, written twice, swapped with the next; long words with two left out."""
    middle = len(key) // 2
    yield key[:middle] + key[middle + 1 :]
    yield key[:middle] + key[middle] + key[middle:]
    yield key[: middle - 1] + key[middle] + key[middle - 1] + key[middle + 1 :]
    if len(key) > 2 * SHORT and "_" not in key:
        yield key[: middle - 1] + key[middle + 1 :]


def told(kind: str, path: KeyPath, word: str) -> str | None:
    """The help of `unknown-key` where the key at `path` is written like this; None where any key may be there."""
    document: Any = copy.deepcopy(SAMPLES[kind])
    table = document
    for part in path[:-1]:
        table = table[part]
    if word in table:
        return None
    table[word] = table.pop(path[-1])
    place = Place(Document("x.toml", "", {}), offset=0)
    _, found = read(MODELS[kind], document, lambda path, part: place, Suggestions())
    unknown = [each for each in found if each.code == "unknown-key"]
    return unknown[0].help if unknown else None


CASES = [(kind, path) for kind, sample in SAMPLES.items() for path in keys(sample) if len(str(path[-1])) > SHORT]


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_key_that_was_meant_is_named(kind: str) -> None:
    wrong: Mapping[Any, str] = {
        (path, word): found
        for other, path in CASES
        for word in misspelt(str(path[-1]))
        if other == kind and word != path[-1]
        if (found := told(kind, path, word)) not in (None, f"did you mean `{path[-1]}`?")
    }
    assert wrong == {}


def test_a_misspelt_word_for_an_image_is_told_as_that() -> None:
    assert told("cluster", ("images", "b", "reference"), "refrence") == "did you mean `reference`?"
    assert told("cluster", ("slurm", "time"), "walltime") == "did you mean `time`?"
