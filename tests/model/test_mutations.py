"""Whatever is wrong with the files, linking ends in a job or in findings that can be drawn, never in a traceback."""

from collections import Counter
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.model.job import Job
from launcher.model.link import Request, link
from launcher.model.recipe import Recipe
from launcher.text.diagnostic import Refused, errors
from launcher.text.report import FORMATS
from tests.model.mutation import SAMPLES, mutated
from tests.model.shelf import BOX, ENGINE, SITE, Shelf
from tests.model.test_schema import accepted

RECIPE = {key: value for key, value in SAMPLES["recipe"].items() if key not in ("extends", "model")}
"""What links as it is: its role manifests and images are on the shelf."""

FILES: dict[str, str] = {
    "vllm": ENGINE.replace('"engine"', '"vllm"', 1).replace('image = "eng"', 'image = "vllm"'),
    "box": BOX + 'image = "box"\n',
    "load": BOX.replace("box", "load").replace("service", "benchmark") + 'image = "box"\n',
}
CLUSTER = SITE.replace("[models]", 'vllm = "docker.io/vllm:1"\n[models]')


def shelf(
    recipe: dict[str, Any], manifest: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None
) -> Shelf:
    return Shelf(
        {"r.toml": tomlkit.dumps(recipe)},
        manifests={**FILES, **({"engine": tomlkit.dumps(manifest)} if manifest is not None else {})},
        clusters={"site": [CLUSTER], **({"gb300": [tomlkit.dumps(cluster)]} if cluster is not None else {})},
        texts={"a.sh": "echo"},
    )


def outcome(files: Shelf, request: Request) -> Job | list[str]:
    """The job, or the codes of what refuses."""
    try:
        return link(files, request)
    except Refused as refused:
        assert errors(refused.diagnostics)
        for write in FORMATS.values():
            assert write(refused.diagnostics)
        assert {finding.exit for finding in refused.diagnostics} <= {2, 3}
        return [finding.code for finding in refused.diagnostics]


def test_the_sample_links() -> None:
    found = outcome(shelf(RECIPE), Request("r.toml:low", "site"))
    assert isinstance(found, Job)
    assert [role.name for role in found.roles] == ["worker", "cache", "router", "benchmark"]


@pytest.mark.parametrize("examples", [80, pytest.param(2000, marks=pytest.mark.heavy)])
def test_recipes(examples: int) -> None:
    counts: Counter[bool] = Counter()

    @settings(max_examples=examples)
    @given(mutated(RECIPE), st.sampled_from(["r.toml", "r.toml:low"]))
    def ends(document: dict[str, Any], name: str) -> None:
        found = outcome(shelf(document), Request(name, "site"))
        counts[isinstance(found, Job)] += 1
        if isinstance(found, Job):
            assert accepted("recipe", document)
            assert isinstance(found.recipe, Recipe)

    ends()
    assert min(counts.values()) > 5


@settings(max_examples=50)
@given(mutated(SAMPLES["manifest"]), mutated(SAMPLES["cluster"]))
def test_other_files(manifest: dict[str, Any], cluster: dict[str, Any]) -> None:
    recipe = {"schema": 1, "name": "x", "roles": {"worker": {"manifest": "engine", "image": "a"}}}
    found = outcome(shelf(recipe, manifest, cluster), Request("r.toml", "gb300"))
    if isinstance(found, Job):
        assert accepted("manifest", manifest)
        assert accepted("cluster", cluster)


KEYS = st.one_of(
    st.sampled_from(["roles.worker.gpus", "ports", "router.flags", "name", "a.b", '"', "", "on.site"]),
    st.text(alphabet="abr.\"'=\n \t[]{}#1é", max_size=12),
)
WORDS = st.builds("{}={}".format, KEYS, st.sampled_from(["1", "x", "{a=1}", "[]", "", '"', "2024-01-01", "\ufdd0"]))


@settings(max_examples=40)
@given(st.lists(WORDS, max_size=3), st.lists(KEYS, max_size=2))
def test_words_of_the_command_line(sets: list[str], unsets: list[str]) -> None:
    outcome(shelf(RECIPE), Request("r.toml", "site", tuple(sets), tuple(unsets)))
