from typing import Any

import pytest

from launcher.plan.step import Step
from launcher.render.roots import shared
from tests.render.plans import plan, site, step


def on(pyxis: str | None = "0.20.0", **data: Any):
    return site(versions={"pyxis": pyxis}, **data)


def two(**fields: Any) -> tuple[Step, Step]:
    return step("a", image="img", **fields), step("b", image="img", **fields)


def joins(*steps: Step, **data: Any) -> dict[str, tuple[str, tuple[int, ...]]]:
    found = shared(plan(*steps), data.pop("cluster", None) or on(**data))
    return {name: (root.name, root.nodes) for name, root in found.items()}


def test_steps_of_one_image_on_a_node_share_a_root():
    assert joins(*two()) == {"a": ("img", (0,)), "b": ("img", (0,))}


def test_one_step_of_an_image_on_each_node_shares_nothing():
    assert joins(step("a", (0,)), step("b", (1,))) == {}


def test_a_root_is_made_on_every_node_of_the_steps_that_join():
    steps = (step("a", (0, 1), image="img"), step("b", (1,), image="img"), step("c", (2,), image="img"))
    assert joins(*steps) == {"a": ("img", (0, 1)), "b": ("img", (0, 1))}


@pytest.mark.parametrize(
    "data",
    [
        {"pyxis": "0.13.0"},
        {"pyxis_": {"squashfuse": True}},
        {"runtime": "apptainer"},
        {"runtime": "none"},
    ],
)
def test_sites_where_nothing_is_shared(data):
    data = {"pyxis" if key == "pyxis_" else key: value for key, value in data.items()}
    version = data.pop("pyxis") if isinstance(data.get("pyxis"), str) else "0.20.0"
    assert joins(*two(), cluster=site(versions={"pyxis": version}, **data)) == {}


@pytest.mark.parametrize("version", ["0.14.0", None, "0.24.0"])
def test_joining_came_with_014(version):
    assert len(joins(*two(), pyxis=version)) == 2


def test_who_has_a_preamble_shares_with_nobody():
    steps = (*two(), step("c", image="img", setup="setup/c.sh", writable=True))
    assert set(joins(*steps)) == {"a", "b"}


def test_other_images_have_other_roots():
    steps = (*two(), *(step(name, image="other", reference="a.io/other:1") for name in "cd"))
    assert {name: root for name, (root, _) in joins(*steps).items()} == {
        "a": "img",
        "b": "img",
        "c": "other",
        "d": "other",
    }


def test_names_have_only_letters_that_enroot_takes_and_are_told_apart():
    steps = (
        *(step(name, image="a b/ü", reference="a.io/x:1") for name in "ab"),
        *(step(name, image="a-b--", reference="a.io/y:1") for name in "cd"),
    )
    assert {root for root, _ in joins(*steps).values()} == {"a-b--", "a-b---2"}


@pytest.mark.parametrize(("tasks", "crowded"), [(1, False), (2, False), (4, True)])
@pytest.mark.parametrize("runtime", ["pyxis", "apptainer"])
def test_several_tasks_on_a_node_have_their_preamble_run_once(tasks, crowded, runtime):
    made = step("mpi", (0, 1), tasks=tasks, setup="setup/mpi.sh", writable=True)
    found = shared(plan(made), on(runtime=runtime))
    assert {name: (root.name, root.nodes, root.setup) for name, root in found.items()} == (
        {"mpi": ("mpi", (0, 1), True)} if crowded else {}
    )
