"""Bounds of vLLM's numbers are those of the classes that its flags are read into."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.checks.rules.said import since
from launcher.checks.rules.vllm_ranges import RANGES, Range
from launcher.model.catalogue import load
from tests.flags import sources

BUILT = ("CacheConfig", "ModelConfig", "ObservabilityConfig", "ParallelConfig", "SchedulerConfig", "UVAOffloadConfig")
"""What vLLM makes of flags whatever else is given."""


def bounds(tree: Path) -> Iterator[tuple[str, Range]]:
    """Every field with bounds, by the name of its flag."""
    for file in sorted((tree / "vllm" / "config").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name in BUILT:
                for field in node.body:
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                        given = {word.arg: word.value for word in getattr(field.value, "keywords", ())}
                        least, most = given.get("ge", given.get("gt")), given.get("le", given.get("lt"))
                        said = {"least": least, "most": most}
                        numbers = {name: ast.literal_eval(value) for name, value in said.items() if value}
                        if numbers:
                            name = field.target.id.replace("_", "-")
                            yield name, Range(**numbers, above="gt" in given, below="lt" in given)


@pytest.mark.parametrize("version", sources.VERSIONS["vllm"])
def test_numbers_are_bound_as_vllm_binds_them(version: str) -> None:
    catalogue = load((sources.ROOT / f"manifests/flags/vllm/{version}.json").read_text(encoding="utf-8"))
    theirs = dict(bounds(sources.source("vllm", version).tree))
    ours = {
        name: wanted._replace(since=Range().since)
        for name, wanted in RANGES.items()
        if catalogue.exactly(name) is not None and since(catalogue, 0, wanted.since)
    }
    assert len(ours) >= 10
    assert ours == {name: theirs.get(name) for name in ours}


def test_a_model_of_no_length_is_refused_where_vllm_refuses_it() -> None:
    text = "self.max_model_len < 1"
    refusing = [
        text in (sources.source("vllm", version).tree / "vllm/config/model.py").read_text()
        for version in sources.VERSIONS["vllm"]
    ]
    assert refusing == [True, False]
