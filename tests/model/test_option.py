"""Options of `sbatch` and `srun`: which catalogues are asked, and what words they become."""

from pathlib import Path

import pytest

from launcher.execute.library import Files
from launcher.model.catalogue import Catalogue, load
from launcher.model.option import PROGRAMS, known, option, spell

FLAGS = Path(__file__).parents[2] / "manifests" / "flags"
NOWHERE = Path("/nonexistent")


def shipped(program: str) -> list[Catalogue]:
    return [load(path.read_text(encoding="utf-8")) for path in sorted((FLAGS / program).glob("*.json"))]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("22.05.8", ["22.05.8"]),
        ("22.05.2", ["22.05.8"]),
        ("24.11.0", ["24.11.5"]),
        ("23.11.10", ["22.05.8", "24.11.5"]),
        ("25.05.1", ["24.11.5", "26.05.5"]),
        ("20.11", ["22.05.8"]),
        ("27.05.0", ["26.05.5"]),
        (None, ["22.05.8", "24.11.5", "26.05.5"]),
    ],
)
def test_catalogues_of_the_release_or_of_those_around_it(program, version, expected):
    library = Files({}, site=NOWHERE)
    assert [each.version for each in known(library, program, version)] == expected


@pytest.mark.parametrize(
    ("program", "key", "having"),
    [
        ("sbatch", "exclude", 3),
        ("sbatch", "segment", 2),
        ("sbatch", "power", 1),
        ("sbatch", "overlap", 0),
        ("srun", "overlap", 3),
        ("srun", "network", 3),
        ("srun", "wrap", 0),
    ],
)
def test_which_releases_have_an_option(program, key, having):
    assert sum(option([each], key) is not None for each in shipped(program)) == having


@pytest.mark.parametrize("key", ["e", "exclud", "exclude_", "--exclude", "Exclude", ""])
def test_only_the_long_name_in_full_is_an_option(key):
    assert option(shipped("sbatch"), key) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"exclude": ["a", "b"], "nodelist": "c,d"}, ["--exclude=a,b", "--nodelist=c,d"]),
        ({"contiguous": True}, ["--contiguous"]),
        ({"nice": 10}, ["--nice=10"]),
        ({"nice": True}, ["--nice"]),
        ({"priority": 5, "deadline": "now+1hour"}, ["--priority=5", "--deadline=now+1hour"]),
        ({"gres": ["a:1", "b:2"]}, ["--gres=a:1,b:2"]),
        ({"constraint": "a&b|c"}, ["--constraint=a&b|c"]),
        ({"nonesuch": "x"}, ["--nonesuch=x"]),
    ],
)
def test_words(options, words):
    assert spell(shipped("sbatch"), options) == words
