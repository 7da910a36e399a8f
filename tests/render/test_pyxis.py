from typing import Any

import pytest

from launcher.plan.step import Mount, Step
from launcher.render.pyxis import CODES, container, inside, seen
from launcher.run.script import ref, shown
from launcher.text.diagnostic import Refused
from tests.jobs import cluster

DIGEST = "sha256:" + "0" * 64


def step(reference: str | None = "nvcr.io/a/b:1", **fields: Any) -> Step:
    return Step("w", "worker", (0,), ("serve", f"--at={ref('run')}/x"), reference=reference, **fields)


def words(made: Step, **versions: str | None) -> list[str]:
    return [shown(word) for word in container(made, cluster(versions=versions))]


def test_every_switch_is_written_out():
    assert words(step()) == [
        "--container-image=nvcr.io#a/b:1",
        "--no-container-mount-home",
        "--no-container-entrypoint",
        "--no-container-remap-root",
        "--container-readonly",
        "--container-mounts={run}:/launch",
        "--container-workdir=/",
    ]


def test_a_preamble_has_a_root_to_write_in():
    assert "--container-writable" in words(step(setup="setup/w.sh"))
    assert "--container-readonly" not in words(step(setup="setup/w.sh"))


def test_mounts_are_one_option_in_their_order():
    mounts = (Mount("/a", "/x"), Mount("/a", "/y", True), Mount("/b", "/z"))
    found = [word for word in words(step(mounts=mounts)) if "mounts" in word]
    assert found == ["--container-mounts={run}:/launch,/a:/x,/a:/y:ro,/b:/z"]


@pytest.mark.parametrize(
    ("env", "versions", "expected"),
    [
        ({}, {}, []),
        ({"A": "1", "B": 'x,"y" $z', "C": ""}, {}, ["--container-env=A,B,C"]),
        # The later lines of a named value would become variables of the container.
        ({"A": "1", "B": "one\nHOME=/evil"}, {}, ["--container-env=A"]),
        ({"B": "\n"}, {}, []),
        ({"A": "1"}, {"pyxis": "0.14.0"}, []),
        ({"A": "1"}, {"pyxis": "0.15"}, ["--container-env=A"]),
    ],
)
def test_environment_by_name(env, versions, expected):
    made = step(env=env, env_from=("TOKEN",))
    assert [word for word in words(made, **versions) if "env" in word] == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (step(), ("serve", "--at=/launch/x")),
        (step(gpus=(0, 1)), ("env", "CUDA_VISIBLE_DEVICES=0,1", "serve", "--at=/launch/x")),
        (step(setup="setup/w.sh"), ("sh", "/launch/setup/w.sh", "serve", "--at=/launch/x")),
        (
            step(setup="setup/w.sh", gpus=(1,)),
            ("sh", "/launch/setup/w.sh", "env", "CUDA_VISIBLE_DEVICES=1", "serve", "--at=/launch/x"),
        ),
    ],
)
def test_inside(made, expected):
    assert inside(made) == expected


def test_seen_in_the_container():
    assert seen(f"{ref('python')} {ref('run')}/a {ref('ip', 0)} {{run}}") == f"python3 /launch/a {ref('ip', 0)} {{run}}"


@pytest.mark.parametrize(
    ("reference", "enroot", "said"),
    [(None, None, "no image"), ("oras://x", None, "oras"), (f"a/b@{DIGEST}", "3.5.0", "digests")],
)
def test_an_image_that_cannot_be_named_is_refused(reference, enroot, said):
    with pytest.raises(Refused) as refused:
        words(step(reference), enroot=enroot)
    (found,) = refused.value.diagnostics
    assert found.code in CODES
    assert said in found.message
