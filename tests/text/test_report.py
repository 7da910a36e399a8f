"""Whole output of each report, to the byte."""

import json

import pytest

from launcher.text.diagnostic import Diagnostic, Label, Place, Severity
from launcher.text.document import Document
from launcher.text.report import FORMATS, concise, full, github, summary
from launcher.text.report import json as as_json
from launcher.text.view import view
from tests.text.sample import ABSENT, ALL, FLAG, NODES, NOWHERE, SETUP, WHOLE, ZERO, at

FULL = """\
error[absent-file]: there is no file 100%.toml

error[too-few]: must be 1 at least
 --> --set:1:23
  |
1 | roles.worker.replicas=0
  |                       ^

error[absent-key]: `allow` is wanted
 --> recipes/bad.toml

error[absent-key]: `max` is wanted
 --> recipes/bad.toml:10:8
   |
10 | [roles.worker]
   |        ^^^^^^

error[too-few-nodes]: 3 replicas of 4 GPUs need 3 nodes
 --> recipes/bad.toml:11:12
   |
11 | replicas = 3
   |            ^
 ::: recipes/bad.toml:12:8
   |
12 | gpus = 4
   |        - GPUs of one replica
 ::: gb300.toml:1:9
   |
 1 | nodes = 2
   |         - the cluster has 2
   = note: a replica does not span nodes here
   = note: two lines
           of a note
help: ask for fewer replicas:
      `--set roles.worker.replicas=2`

warning[long-setup]: text over many lines
 --> recipes/bad.toml:13:9
   |
13 | setup = '''
   |         ^^^

error[unknown-flag]: vllm 0.20.2 has no flag `--tensor-paralel-size`
 --> recipes/bad.toml:16:11
   |
16 | flags = { tensor-paralel-size = 4 }
   |           ^^^^^^^^^^^^^^^^^^^
help: did you mean `tensor-parallel-size`?"""

CONCISE = """\
error[absent-file]: there is no file 100%.toml
--set:1:23: error[too-few]: must be 1 at least
recipes/bad.toml:1:1: error[absent-key]: `allow` is wanted
recipes/bad.toml:10:8: error[absent-key]: `max` is wanted
recipes/bad.toml:11:12: error[too-few-nodes]: 3 replicas of 4 GPUs need 3 nodes
recipes/bad.toml:13:9: warning[long-setup]: text over many lines
recipes/bad.toml:16:11: error[unknown-flag]: vllm 0.20.2 has no flag `--tensor-paralel-size`"""

GITHUB = (
    "::error title=absent-file::there is no file 100%25.toml\n"
    "::error title=too-few::--set:1:23: must be 1 at least\n"
    "::error file=recipes/bad.toml,line=1,endLine=1,col=1,endColumn=1,title=absent-key::`allow` is wanted\n"
    "::error file=recipes/bad.toml,line=10,endLine=10,col=8,endColumn=14,title=absent-key::`max` is wanted\n"
    "::error file=recipes/bad.toml,line=11,endLine=11,col=12,endColumn=13,title=too-few-nodes::"
    "3 replicas of 4 GPUs need 3 nodes%0Aa replica does not span nodes here%0Atwo lines%0Aof a note"
    "%0Ahelp: ask for fewer replicas:%0A`--set roles.worker.replicas=2`\n"
    "::warning file=recipes/bad.toml,line=13,endLine=15,title=long-setup::text over many lines\n"
    "::error file=recipes/bad.toml,line=16,endLine=16,col=11,endColumn=30,title=unknown-flag::"
    "vllm 0.20.2 has no flag `--tensor-paralel-size`%0Ahelp: did you mean `tensor-parallel-size`?"
)

JSON = """\
{
  "schema": 1,
  "diagnostics": [
    {
      "code": "absent-file",
      "severity": "error",
      "message": "there is no file 100%.toml",
      "place": null,
      "labels": [],
      "notes": [],
      "help": null
    },
    {
      "code": "too-few-nodes",
      "severity": "error",
      "message": "3 replicas of 4 GPUs need 3 nodes",
      "place": {
        "document": "recipes/bad.toml",
        "line": 11,
        "column": 12,
        "end_line": 11,
        "end_column": 13,
        "path": [
          "roles",
          "worker",
          "replicas"
        ]
      },
      "labels": [
        {
          "message": "GPUs of one replica",
          "place": {
            "document": "recipes/bad.toml",
            "line": 12,
            "column": 8,
            "end_line": 12,
            "end_column": 9,
            "path": [
              "roles",
              "worker",
              "gpus"
            ]
          }
        },
        {
          "message": "the cluster has 2",
          "place": {
            "document": "gb300.toml",
            "line": 1,
            "column": 9,
            "end_line": 1,
            "end_column": 10,
            "path": [
              "nodes"
            ]
          }
        }
      ],
      "notes": [
        "a replica does not span nodes here",
        "two lines\\nof a note"
      ],
      "help": "ask for fewer replicas:\\n`--set roles.worker.replicas=2`"
    },
    {
      "code": "long-setup",
      "severity": "warning",
      "message": "text over many lines",
      "place": {
        "document": "recipes/bad.toml",
        "line": 13,
        "column": 9,
        "end_line": 15,
        "end_column": 4,
        "path": [
          "roles",
          "worker",
          "setup"
        ]
      },
      "labels": [],
      "notes": [],
      "help": null
    }
  ]
}"""


def test_full() -> None:
    assert full(ALL) == FULL


def test_concise() -> None:
    assert concise(ALL) == CONCISE


def test_github() -> None:
    assert github(ALL) == GITHUB


def test_json() -> None:
    assert as_json([SETUP, NODES, NOWHERE]) == JSON


@pytest.mark.parametrize("name", FORMATS)
def test_order_of_findings_does_not_matter(name: str) -> None:
    assert FORMATS[name](ALL) == FORMATS[name](ALL[::-1])


def test_no_findings() -> None:
    assert [full([]), concise([]), github([])] == [""] * 3
    assert json.loads(as_json([])) == {"schema": 1, "diagnostics": []}


def test_color() -> None:
    assert full([NODES, SETUP], color=True) == (
        "\x1b[1;31merror[too-few-nodes]\x1b[0m\x1b[1m: 3 replicas of 4 GPUs need 3 nodes\x1b[0m\n"
        " \x1b[1;34m-->\x1b[0m recipes/bad.toml:11:12\n"
        "   \x1b[1;34m|\x1b[0m\n"
        "\x1b[1;34m11 |\x1b[0m replicas = 3\n"
        "   \x1b[1;34m|\x1b[0m            \x1b[1;31m^\x1b[0m\n"
        " \x1b[1;34m:::\x1b[0m recipes/bad.toml:12:8\n"
        "   \x1b[1;34m|\x1b[0m\n"
        "\x1b[1;34m12 |\x1b[0m gpus = 4\n"
        "   \x1b[1;34m|\x1b[0m        \x1b[1;34m- GPUs of one replica\x1b[0m\n"
        " \x1b[1;34m:::\x1b[0m gb300.toml:1:9\n"
        "   \x1b[1;34m|\x1b[0m\n"
        "\x1b[1;34m 1 |\x1b[0m nodes = 2\n"
        "   \x1b[1;34m|\x1b[0m         \x1b[1;34m- the cluster has 2\x1b[0m\n"
        "   \x1b[1;34m=\x1b[0m note: a replica does not span nodes here\n"
        "   \x1b[1;34m=\x1b[0m note: two lines\n"
        "           of a note\n"
        "\x1b[1;36mhelp\x1b[0m: ask for fewer replicas:\n"
        "      `--set roles.worker.replicas=2`\n"
        "\n"
        "\x1b[1;33mwarning[long-setup]\x1b[0m\x1b[1m: text over many lines\x1b[0m\n"
        " \x1b[1;34m-->\x1b[0m recipes/bad.toml:13:9\n"
        "   \x1b[1;34m|\x1b[0m\n"
        "\x1b[1;34m13 |\x1b[0m setup = '''\n"
        "   \x1b[1;34m|\x1b[0m         \x1b[1;33m^^^\x1b[0m"
    )


def test_label_on_a_whole_document() -> None:
    place = Place(Document("other", "a = 1", {"a": 1}))
    assert full([Diagnostic("c", "m", None, labels=(Label(place, "see there"),))]) == (
        "error[c]: m\n ::: other\n  = see there"
    )


def test_concise_is_one_line() -> None:
    assert concise([Diagnostic("c", "one\ntwo\tthree\x1b", None)]) == "error[c]: one␊two three␛"
    assert concise([at("a\nb", "x", 0)]) == "a␊b:1:1: error[c]: m"


@pytest.mark.parametrize(
    ("finding", "line"),
    [
        (at("a,b:c%d\r\n", "x", 0), "::error file=a%2Cb%3Ac%25d%0D%0A,line=1,endLine=1,col=1,endColumn=2,title=c::m"),
        (Diagnostic("c", "a,b: 5%\r\n::error::x\x1b", None), "::error title=c::a,b: 5%25%0D%0A::error::x␛"),
        (at("<stdin>", "x", 0), "::error title=c::<stdin>:1:1: m"),
        (at("$LAUNCH_CLUSTER", "x", 0), "::error title=c::$LAUNCH_CLUSTER:1:1: m"),
    ],
)
def test_github_escapes(finding: Diagnostic, line: str) -> None:
    assert github([finding]) == line


@pytest.mark.parametrize("name", FORMATS)
def test_undecodable_names_and_texts_can_be_written(name: str) -> None:
    report = FORMATS[name]([at("caf\udce9.toml", "a = '\udcff'", 5)])
    assert report.encode("utf-8")


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([], "no findings"),
        ([SETUP], "1 warning"),
        ([FLAG, ABSENT], "2 errors"),
        ([SETUP, FLAG, WHOLE, SETUP], "2 errors, 2 warnings"),
        ([ZERO, SETUP], "1 error, 1 warning"),
    ],
)
def test_summary(findings: list[Diagnostic], expected: str) -> None:
    assert summary(findings) == expected


def test_of_thousands_of_findings_a_thousand_are_told_errors_first() -> None:
    document = Document("r.toml", "a = 1\n" * 3000, {})
    severities = [Severity.WARNING if line < 1500 else Severity.ERROR for line in range(3000)]
    findings = [
        Diagnostic("c", f"m{line}", Place(document, offset=6 * line), severity)
        for line, severity in enumerate(severities)
    ]
    told = json.loads(as_json(findings))["diagnostics"]
    assert [each["message"] for each in told[:-1]] == [f"m{line}" for line in range(1500, 2500)]
    assert (told[-1]["code"], told[-1]["message"]) == ("findings-left-out", "2000 more findings are left out")
    assert all("2000 more findings are left out" in write(findings) for write in FORMATS.values())
    few = [*findings[:700], *findings[1500:1600]]
    told = json.loads(as_json(few))["diagnostics"]
    assert [each["message"] for each in told] == [finding.message for finding in few]


def test_a_line_of_a_megabyte_is_cut_once() -> None:
    """The same text for every finding of a line: fifty thousand copies of a megabyte fit into no memory."""
    document = Document("r.toml", "a" * 1_000_000, {})
    assert view([Diagnostic("c", "m", Place(document, offset=at)) for at in range(2)])[0].region is not None
    assert document.shown(1) is document.shown(1)
