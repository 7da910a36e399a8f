from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.cluster import Cluster
from launcher.plan.step import Mount
from launcher.render.apptainer import apptainer, folder, inside, leavings, variables
from launcher.render.roots import Shared
from launcher.run.script import bind, shown
from launcher.text.diagnostic import Refused
from tests.render.plans import site, step, words


def on(**data: Any) -> Cluster:
    return site(runtime="apptainer", **data)


PLAIN = ["apptainer", "--quiet", "exec", "--no-eval", "--no-home", "--cleanenv", "--pwd=/"]


def test_a_read_only_container():
    assert words(apptainer(step(reference="/i/a.sif"), on())) == [*PLAIN, "--bind={run}:/launch", "/i/a.sif"]


@pytest.mark.parametrize(
    ("fields", "data", "without", "with_"),
    [
        ({"gpus": (0,)}, {}, [], ["--nv"]),
        ({"gpus": (0,)}, {"apptainer": {"gpu": "rocm"}}, ["--nv"], ["--rocm"]),
        ({"gpus": (0,)}, {"apptainer": {"gpu": "nvccli"}}, ["--nv"], ["--nvccli"]),
        ({}, {"apptainer": {"home": True}}, ["--no-home", "--nv"], []),
        # Ranks tell themselves apart by what Slurm sets for each.
        ({"mpi": True}, {}, ["--cleanenv"], []),
        ({"tasks": 2}, {}, ["--cleanenv"], []),
        ({"nodes": (0, 1), "tasks": 2}, {}, [], ["--cleanenv"]),
        ({"setup": "setup/_cluster.sh"}, {}, ["--fakeroot"], []),
    ],
)
def test_switches(fields, data, without, with_):
    found = words(apptainer(step(**fields), on(**data)))
    assert not set(without) & set(found)
    assert set(with_) <= set(found)
    assert not {"--containall", "--contain", "--pid", "--compat"} & set(found)


def test_a_preamble_writes_to_a_folder_of_the_node_as_fake_root():
    made = step("router", setup="setup/router.sh", writable=True)
    found = words(apptainer(made, on(node={"local": "/scratch/$USER"})))
    place = "/scratch/{user}/launch-{job}-{id}/router"
    assert found[:4] == ["sh", "{run}/setup/_overlay.sh", place, "apptainer"]
    assert found[-3:] == ["--fakeroot", f"--overlay={place}", "docker://a.io/b:1"]


def test_ranks_see_the_folder_of_the_pmix_server() -> None:
    found = words(apptainer(step(mpi=True, tasks=4, nodes=(0, 1)), on()))
    assert found[:3] == ["sh", "{run}/setup/_pmix.sh", "apptainer"]
    found = words(apptainer(step(mpi=True, setup="setup/w.sh", writable=True), on()))
    assert found[3:6] == ["sh", "{run}/setup/_pmix.sh", "apptainer"]


def test_what_a_preparing_step_wrote_lies_over_the_image_read_only():
    made = step(setup="setup/w.sh", writable=True, tasks=8)
    found = words(apptainer(made, on(), Shared("worker-0", (0,), made, setup=True)))
    assert found[0] == "apptainer"
    assert "--fakeroot" not in found
    assert "--overlay=/tmp/launch-{job}-{id}/worker-0:ro" in found


def test_commas_and_colons_are_escaped_in_binds():
    mounts = (Mount("/a,b", "/c:d"), Mount("/e f", "/g", True))
    found = words(apptainer(step(mounts=mounts), on()))
    assert r"--bind={run}:/launch,/a\,b:/c\:d,/e f:/g:ro" in found


def test_variables_have_the_prefix_and_path_is_set_inside():
    made = step(env={"PATH": "/x", "HOME": "/h", "A": "1\n2", "SLURM_X": "s"}, gpus=(3,))
    assert variables(made, on(apptainer={"cache": "$HOME/c"})) == {
        "APPTAINERENV_A": "1\n2",
        "APPTAINERENV_SLURM_X": "s",
        "APPTAINER_CACHEDIR": "\ufdd0home\ufdd1/c",
    }
    assert words(inside(made)) == [
        *("sh", "/launch/setup/_enter.sh", "worker-0"),
        *("env", "PATH=/x", "HOME=/h", "CUDA_VISIBLE_DEVICES=3", "serve"),
    ]


def test_a_container_removes_what_fake_root_wrote():
    root = leavings(step(reference="/i/a.sif"), on(node={"local": "/scratch"}))
    assert (root.kind, shown(root.name)) == ("directory", "/scratch/launch-{job}-{id}")
    assert words(root.remove)[-6:] == [
        "--fakeroot",
        "--bind=/scratch:/mnt",
        "/i/a.sif",
        "rm",
        "-rf",
        "/mnt/launch-{job}-{id}",
    ]
    assert folder(step("x"), on(node={"local": "/scratch"})).startswith(root.name + "/")


@pytest.mark.parametrize(
    ("reference", "said"),
    [("/a.sqsh", "enroot"), ("a.sif", "absolute"), ("podman://a", "Podman"), ("me@a.io#b:1", "user")],
)
def test_an_image_that_cannot_be_started_is_refused(reference, said):
    with pytest.raises(Refused) as refused:
        apptainer(step(reference=reference), on())
    assert said in refused.value.diagnostics[0].message


PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\0\\\n\ufdd0\ufdd1"), min_size=1, max_size=8)


@given(st.lists(st.tuples(PATHS, PATHS, st.booleans()), max_size=4))
def test_binds_are_told_apart_again(parts):
    mounts = tuple(Mount(f"/{source}", f"/{target}", flag) for source, target, flag in parts)
    bound = bind(apptainer(step(mounts=mounts), on()), {"run": "/r"})
    (word,) = [word for word in bound if word.startswith("--bind=")]
    assert list(_binds(word.removeprefix("--bind="))) == [("/r", "/launch", ""), *_wanted(mounts)]


def _wanted(mounts: tuple[Mount, ...]) -> list[tuple[str, str, str]]:
    return [(mount.source, mount.target, "ro" if mount.read_only else "") for mount in mounts]


def _binds(text: str) -> list[tuple[str, str, str]]:
    """As Apptainer reads them: a comma parts entries, a colon fields, a backslash takes both their meaning."""
    entries: list[list[str]] = [[""]]
    letters = iter(text)
    for letter in letters:
        if letter == ",":
            entries.append([""])
        elif letter == ":":
            entries[-1].append("")
        else:
            entries[-1][-1] += next(letters) if letter == "\\" else letter
    return [(*entry, "")[:3] for entry in entries]  # type: ignore[misc]
