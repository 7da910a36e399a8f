"""The recipe of a link: `extends`, `[on.CLUSTER]`, variants and the words of the command line, in their order."""

import tomllib
from pathlib import Path

import pytest

from launcher.model.link import Edit, Request, link
from launcher.model.recipe import Recipe, RecipeFile
from launcher.model.source import DEPTH, FILE_KEYS, alone, split
from launcher.text.diagnostic import Severity
from tests.model.shelf import Shelf, refused, written

RECIPES = Path(__file__).parents[2] / "recipes"
BASE = """schema = 1
name = "base"
roles.worker.manifest = "engine"
ports.shift = 1
ready.timeout = "1m"
[on.local]
ports.shift = 3
[variants.low]
ports.shift = 4
[variants.base]
ports.shift = 10
"""
TOP = """schema = 1
extends = "base.toml"
ports.shift = 2
[on.local]
ready.timeout = "3m"
[on.site]
ports.shift = 9
[variants.low]
ready.timeout = "4m"
"""
SHELF = Shelf({"base.toml": BASE, "top.toml": TOP})

ORDER = [
    (Request("base.toml", "site"), (1, "1m")),
    (Request("base.toml"), (3, "1m")),
    (Request("top.toml", "site"), (9, "1m")),
    (Request("top.toml"), (3, "3m")),
    (Request("top.toml:low"), (4, "4m")),
    (Request("top.toml:base"), (10, "3m")),
    (Request("top.toml", sets=("ports.shift=5", "ports.shift=6")), (6, "3m")),
    (Request("top.toml:low", sets=("ready.timeout=01:00:00",)), (4, "01:00:00")),
    (Request("top.toml:low", sets=("ready.timeout=90",)), (4, 90)),
    (Request("top.toml", sets=("ready={timeout='9m'}",)), (3, "9m")),
    (Request("top.toml", unsets=("ports.shift",)), (0, "3m")),
    (Request("top.toml", unsets=("ready",)), (3, "10m")),
    (Request("top.toml", sets=("ports.shift=5",), unsets=("ports.shift",)), (0, "3m")),
    (Request("top.toml", edits=(Edit("ports.shift", unset=True), Edit("ports.shift=5"))), (5, "3m")),
    (Request("top.toml", edits=(Edit("ports.shift=5"), Edit("ports.shift", unset=True))), (0, "3m")),
]


@pytest.mark.parametrize(("request_", "found"), ORDER, ids=[str(row[0]) for row in ORDER])
def test_layers_come_in_order(request_: Request, found: tuple[int, object]) -> None:
    recipe = link(SHELF, request_).recipe
    assert (recipe.ports.shift, recipe.ready.timeout) == found


def test_a_chain_has_every_layer() -> None:
    job = link(SHELF, Request("top.toml:low", sets=("ports.shift=5",)))
    chain = job.origins.chains["ports", "shift"]
    assert [(origin.layer, origin.document.name, origin.path) for origin in chain] == [
        ("extends", "base.toml", ("ports", "shift")),
        ("recipe", "top.toml", ("ports", "shift")),
        ("[on.local]", "base.toml", ("on", "local", "ports", "shift")),
        ("[variants.low]", "base.toml", ("variants", "low", "ports", "shift")),
        ("--set", "--set", ("ports", "shift")),
    ]
    assert job.document.name == "top.toml"


def test_places_of_what_is_not_written() -> None:
    job = link(SHELF, Request("base.toml", "site"))
    place = job.origins.place(("ports", "public"))
    assert (place.path, place.part) == (("ports",), "key")
    assert job.origins.place(("model", "path")).whole


SPLIT = [
    ("r.toml", ("r.toml", None)),
    ("r.toml:low", ("r.toml", "low")),
    ("quickstart:low", ("quickstart", "low")),
    ("-:low", ("-", "low")),
    ("a:b.toml", ("a:b.toml", None)),
    ("a:b.toml:c", ("a:b.toml", "c")),
    ("a:b/r.toml", ("a:b/r.toml", None)),
    (":low", (":low", None)),
    ("r.toml:", ("r.toml", "")),
]


@pytest.mark.parametrize(("recipe", "parts"), SPLIT)
def test_a_recipe_is_a_path_and_perhaps_a_variant(recipe: str, parts: tuple[str, str | None]) -> None:
    assert split(recipe) == parts


def head(extends: str) -> str:
    return f"schema = 1\nname = 'x'\nextends = '{extends}'\n"


def test_a_circle_is_named() -> None:
    shelf = Shelf({"a.toml": head("b.toml"), "b.toml": head("c.toml"), "c.toml": head("b.toml")})
    assert refused(shelf, Request("a.toml")) == [
        "extends-cycle c.toml:3:11 recipes extend each other in a circle: `b.toml` extends `c.toml` extends `b.toml`"
    ]
    assert refused(Shelf({"a.toml": head("a.toml")}), Request("a.toml")) == [
        "extends-cycle a.toml:3:11 recipes extend each other in a circle: `a.toml` extends `a.toml`"
    ]


def test_a_chain_has_an_end() -> None:
    recipes = {f"{index}.toml": head(f"{index + 1}.toml") for index in range(DEPTH + 1)}
    last = {f"{DEPTH}.toml": "schema = 1\nname = 'x'\n"}
    assert refused(Shelf({**recipes, **last}), Request("0.toml")) == []
    longer = Shelf({**recipes, f"{DEPTH + 1}.toml": "schema = 1\n"})
    assert refused(longer, Request("0.toml")) == [
        f"extends-too-deep {DEPTH}.toml:3:11 `0.toml` stands on more than {DEPTH} recipes"
    ]


def test_a_base_that_is_not_there_is_a_fault_of_the_recipe() -> None:
    shelf = Shelf({"a.toml": "schema = 1\nextends = 'nope.toml'\n"})
    assert refused(shelf, Request("a.toml")) == [
        "file-absent a.toml:2:11 `nope.toml` does not exist",
        "missing-key a.toml:1:1 `name` is missing",
    ]


def test_faults_of_a_base_stand_in_the_base() -> None:
    shelf = Shelf({"a.toml": "schema = 1\nextends = 'b.toml'\n", "b.toml": "schema = 2\nname = 'x'\nports.shft = 1\n"})
    assert refused(shelf, Request("a.toml")) == [
        "unknown-key b.toml:3:7 unknown key `shft` in `[ports]`",
        "wrong-value b.toml:1:10 `schema` must be `1`, not `2`",
    ]


def test_a_table_for_a_cluster_with_nearly_the_right_name_is_warned_of() -> None:
    recipe = "schema = 1\nname = 'x'\non.sites.ports.shift = 1\non.elsewhere.ports.shift = 1\non.site.ports.shift = 2\n"
    job = link(Shelf({"r.toml": recipe}), Request("r.toml"))
    assert [(written(one), one.severity, one.help) for one in job.findings] == [
        (
            "similar-cluster r.toml:3:4 no cluster is named `sites`: what this table says is not applied",
            Severity.WARNING,
            "did you mean `site`?",
        )
    ]


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_file_alone_is_the_recipe_that_reading_it_again_gives(path: Path) -> None:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    own = {key: value for key, value in data.items() if key not in FILE_KEYS}
    assert alone(RecipeFile.model_validate(data)) == Recipe.model_validate(own)
