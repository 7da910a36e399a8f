"""The SARIF log: one whole as a literal, and what every one must hold."""

import json
from typing import Any

import pytest

from launcher.text.report import sarif
from tests.text.sample import ALL, NODES, NOWHERE, ZERO, at


def result(finding: object) -> dict[str, object]:
    (only,) = json.loads(sarif([finding]))["runs"][0]["results"]  # type: ignore[list-item]
    return dict(only)


def region(line: int, start: int, end: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": start, "endLine": line, "endColumn": end}


LOG = {
    "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    "version": "2.1.0",
    "runs": [
        {
            "tool": {
                "driver": {
                    "name": "launch",
                    "rules": [{"id": "absent-file"}, {"id": "too-few"}, {"id": "too-few-nodes"}],
                }
            },
            "columnKind": "unicodeCodePoints",
            "results": [
                {
                    "ruleId": "absent-file",
                    "ruleIndex": 0,
                    "level": "error",
                    "message": {"text": "there is no file 100%.toml"},
                },
                {
                    "ruleId": "too-few",
                    "ruleIndex": 1,
                    "level": "error",
                    "message": {"text": "must be 1 at least"},
                    "locations": [{"logicalLocations": [{"fullyQualifiedName": "--set"}]}],
                },
                {
                    "ruleId": "too-few-nodes",
                    "ruleIndex": 2,
                    "level": "error",
                    "message": {
                        "text": "3 replicas of 4 GPUs need 3 nodes\na replica does not span nodes here\ntwo lines\n"
                        "of a note\nhelp: ask for fewer replicas:\n`--set roles.worker.replicas=2`"
                    },
                    "locations": [
                        {
                            "physicalLocation": {
                                "artifactLocation": {"uri": "recipes/bad.toml"},
                                "region": region(11, 12, 13),
                            }
                        }
                    ],
                    "relatedLocations": [
                        {
                            "id": 1,
                            "physicalLocation": {
                                "artifactLocation": {"uri": "recipes/bad.toml"},
                                "region": region(12, 8, 9),
                            },
                            "message": {"text": "GPUs of one replica"},
                        },
                        {
                            "id": 2,
                            "physicalLocation": {
                                "artifactLocation": {"uri": "gb300.toml"},
                                "region": region(1, 9, 10),
                            },
                            "message": {"text": "the cluster has 2"},
                        },
                    ],
                },
            ],
        }
    ],
}


def test_whole_log() -> None:
    assert json.loads(sarif([NODES, ZERO, NOWHERE])) == LOG


def test_each_result_names_its_rule() -> None:
    (run,) = json.loads(sarif(ALL))["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted({finding.code for finding in ALL})
    assert [rules[found["ruleIndex"]] for found in run["results"]] == [found["ruleId"] for found in run["results"]]


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("a b/名.toml", "a%20b/%E5%90%8D.toml"),
        ("/x/a%b:c?#.toml", "/x/a%25b%3Ac%3F%23.toml"),
        ("caf\udce9.toml", "caf%E9.toml"),
    ],
)
def test_names_are_uris(name: str, uri: str) -> None:
    found: Any = result(at(name, "x", 0))
    (location,) = found["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": uri}
