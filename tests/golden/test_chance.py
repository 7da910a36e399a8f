"""Whatever a recipe asks for, it is refused and told where, or what its plan says of one step to another is true."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
import tomlkit

from launcher.cli.stages import checked
from launcher.execute.library import Files
from launcher.model.link import Request
from launcher.plan.plan import plan
from launcher.render.sbatch import submission
from launcher.render.script import render
from launcher.run.script import to_data
from launcher.text.diagnostic import Diagnostic, Refused, errors
from launcher.text.report import FORMATS
from tests.golden import test_agreement
from tests.golden.chance import recipe
from tests.golden.test_agreement import Found, deployment
from tests.golden.test_golden import RECIPES

INVARIANTS = [
    holds for name, holds in sorted(vars(test_agreement).items()) if name.startswith("test_") and callable(holds)
]
CLUSTERS = ("gb300", "h100", "x86-apptainer", "local")


def outcome(library: Files, request: Request) -> Found | list[Diagnostic]:
    """What is planned, or the findings that refuse it. Whoever is given either can read all of it."""
    try:
        made = checked(request, library)
    except Refused as refused:
        return list(refused.diagnostics)
    if errors(made.findings):
        return list(made.findings)
    planned = plan(made.job, made.adapters)
    script = render(planned, made.job.cluster)
    json.dumps([to_data(planned), to_data(script)])
    if planned.batch:
        submission(planned, made.job.cluster)
    return deployment(planned, made.job.cluster, script)


def sweep(folder: Path, count: int, seed: int) -> Counter[str]:
    """How many recipes were refused, and how many planned, by engine; asserts what must hold for each."""
    (folder / "epp").symlink_to(RECIPES.parents[2] / "recipes" / "epp")
    library, dice = Files({}, site=folder / "nosuch", directory=folder), random.Random(seed)
    counts: Counter[str] = Counter()
    for number in range(count):
        made, cluster, simulate = recipe(dice), dice.choice(CLUSTERS), dice.random() < 0.3
        text = tomlkit.dumps(made)
        (folder / f"{number}.toml").write_text(text, encoding="utf-8")
        found = outcome(library, Request(f"./{number}.toml", cluster, simulate=simulate))
        shown = f"{cluster}{' --simulate' * simulate}\n{text}"
        if isinstance(found, list):
            counts["refused"] += 1
            assert errors(found), shown
            assert all(each.place for each in found), f"{found}\n{shown}"
            assert all(write(found) for write in FORMATS.values())
            continue
        counts[next(iter(made["roles"].values()))["manifest"]] += 1
        for holds in INVARIANTS:
            try:
                holds(found)
            except AssertionError as error:
                raise AssertionError(f"{holds.__name__}\n{shown}") from error
    return counts


@pytest.mark.parametrize("seed", range(2))
def test_recipes_by_chance(tmp_path: Path, seed: int) -> None:
    counts = sweep(tmp_path, 150, seed)
    assert counts["refused"] > 20
    assert sum(counts.values()) > counts["refused"] + 20


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_recipes_by_chance(tmp_path: Path, seed: int) -> None:
    sweep(tmp_path, 2000, seed)
