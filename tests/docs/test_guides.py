"""What README and guides tell people to type is what the program takes, and every error it explains is in the guide."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from docs import causes
from launcher.cli import NESTED, VERBS, parser
from launcher.execute import status
from launcher.execute.slurm import refusal
from launcher.model.cluster import Cluster
from launcher.model.linking import Linking
from launcher.model.recipe import RecipeFile
from launcher.run import outcome, turns
from launcher.run.hints import HINTS, hint
from launcher.text.parse import parse
from tests.model.shelf import Shelf

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs/guides").glob("**/*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> Iterator[str]:
    """The texts of a page's fenced blocks of a language."""
    for found in FENCE.finditer(page.read_text()):
        if found[1] == language:
            yield found[2]


def typed(page: Path) -> Iterator[str]:
    """What a page has people type that begins with `launch`: the commands of its consoles."""
    for block in blocks(page, "console"):
        lines = re.sub(r"\\\n\s*", "", block).splitlines()
        yield from (line[2:].partition("  #")[0].strip() for line in lines if line.startswith("$ launch "))


def named(page: Path) -> Iterator[str]:
    """What a page's sentences call commands: perhaps without the words that come behind."""
    for found in re.finditer(r"`(launch [^`]*)`", FENCE.sub("", page.read_text())):
        yield " ".join(found[1].split())


def split(command: str) -> tuple[str, list[str]]:
    """The verb, with its own verb where it has them, and the words behind it."""
    said = [word for word in shlex.split(re.split(r" [|;>&]", command)[0])[1:] if word != "…"]
    wide = 1 + (said[0] in NESTED and len(said) > 1)
    return " ".join(said[:wide]), said[wide:]


TYPED = sorted({(page.name, command) for page in PAGES for command in typed(page)})
NAMED = sorted({(page.name, command) for page in PAGES for command in named(page)} - set(TYPED))


@pytest.mark.parametrize(("page", "command"), TYPED)
def test_a_command_can_be_typed(page: str, command: str) -> None:
    verb, rest = split(command)
    made = parser(verb)
    assert made.asked(rest) or made.read(rest)


@pytest.mark.parametrize(("page", "command"), NAMED)
def test_a_command_that_is_named_is_one(page: str, command: str) -> None:
    verb, rest = split(command)
    if verb in ("VERB", "--help", "--version") or verb in NESTED:
        return
    assert verb.split()[0] in VERBS
    options = {name for action in parser(verb).actions() for name in action.option_strings}
    own = rest[: rest.index("--")] if "--" in rest else rest
    assert {word.partition("=")[0] for word in own if word.startswith("-")} <= options


def fragments(page: str) -> list[tuple[int, str]]:
    return list(enumerate(blocks(ROOT / "docs/guides" / page, "toml")))


@pytest.mark.parametrize(("number", "text"), fragments("clusters.md"))
def test_a_piece_of_a_cluster_file_is_one(number: int, text: str) -> None:
    assert faults(Cluster, {"schema": 1, "name": "c", **tomllib.loads(text)}) == []


@pytest.mark.parametrize(("number", "text"), fragments("slurm.md"))
def test_a_piece_of_a_recipe_is_one(number: int, text: str) -> None:
    assert faults(RecipeFile, {"schema": 1, "name": "r", **tomllib.loads(text)}) == []


def faults(model: Any, data: dict[str, Any]) -> list[str]:
    linking = Linking(Shelf({}))
    linking.read(model, parse("piece", tomlkit.dumps(data)))
    return [finding.message for finding in linking.findings]


def test_every_known_cause_is_in_the_guide() -> None:
    text = (ROOT / "docs/guides/when-it-fails.md").read_text()
    for advice in [*(advice for _, advice in HINTS), *(meaning.advice for meaning in refusal.MEANINGS)]:
        assert f"| {advice.replace('|', chr(92) + '|')} |" in text
    assert all(hint([line]) for line in causes.LOGS)
    assert all(refusal.advice(line) for line in causes.REFUSALS)


def test_every_state_of_a_run_is_in_the_guide() -> None:
    text = (ROOT / "docs/guides/when-it-fails.md").read_text()
    ends = {
        getattr(outcome, name) for name in vars(outcome) if name.isupper() and isinstance(getattr(outcome, name), str)
    }
    phases = {getattr(turns, name) for name in vars(turns) if name.isupper()}
    own = {status.PENDING, status.SUSPENDED, status.HELD, status.LOST, status.CREATED, status.UNKNOWN}
    assert {*ends, *phases, *own} == set(status.STATES)
    for state, meaning in status.STATES.items():
        assert f"| `{state}` | {meaning} |" in text


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), (page.name, target)


def test_every_guide_is_named_in_the_readme_or_by_the_guide_of_its_folder() -> None:
    for page in PAGES:
        home = page.parent.with_suffix(".md") if page.parent.name == "routers" else ROOT / "README.md"
        assert page == home or str(page.relative_to(home.parent)) in home.read_text(), page
