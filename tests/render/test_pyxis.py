import ast
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.model.cluster import Cluster
from launcher.plan.step import Mount
from launcher.render.pyxis import CODES, FILES, PREFIX, container, inside, make, seen, variables
from launcher.render.roots import Shared
from launcher.run.script import bind, ref, shown
from launcher.text.diagnostic import Refused
from tests.render.plans import site, step, words
from tests.render.shells import SHELLS

DIGEST = "sha256:" + "0" * 64


def on(**versions: str | None) -> Cluster:
    return site(versions=versions)


def names(found: list[str]) -> list[str]:
    return [word for word in found if "container-env" in word]


def test_every_switch_is_written_out():
    assert words(container(step(reference="nvcr.io/a/b:1"), on())) == [
        "--container-image=nvcr.io#a/b:1",
        "--no-container-mount-home",
        "--no-container-entrypoint",
        "--no-container-remap-root",
        "--container-readonly",
        "--container-mounts={run}:/launch",
        "--container-workdir=/",
    ]


@pytest.mark.parametrize(
    ("fields", "writable"),
    [
        ({}, False),
        # The cluster's preamble alone (ulimit, umask) needs nothing to write to.
        ({"setup": "setup/_cluster.sh"}, False),
        ({"setup": "setup/worker.sh", "writable": True}, True),
    ],
)
def test_a_role_s_own_preamble_has_a_root_to_write_in(fields: dict[str, Any], writable: bool):
    found = container(step(**fields), on())
    assert ("--container-writable" in found, "--container-readonly" in found) == (writable, not writable)


def test_mounts_are_one_option_in_their_order():
    mounts = (Mount("/a", "/x"), Mount("/a", "/y", True), Mount("/b", "/z"))
    found = [word for word in words(container(step(mounts=mounts), on())) if "mounts" in word]
    assert found == ["--container-mounts={run}:/launch,/a:/x,/a:/y:ro,/b:/z"]


PATHS = st.text(st.characters(codec="utf-8", exclude_characters='\0\n,:"$`\\\ufdd0\ufdd1'), min_size=1, max_size=8)


@given(st.lists(st.tuples(PATHS, PATHS, st.booleans()), max_size=5))
def test_mounts_are_joined_once_and_told_apart_again(parts):
    mounts = tuple(Mount(f"/{source}", f"/{target}", flag) for source, target, flag in parts)
    (word,) = [word for word in container(step(mounts=mounts), on()) if word.startswith("--container-mounts")]
    entries = bind(word, {"run": "/r"}).removeprefix("--container-mounts=").split(",")
    expected = [[each.source, each.target, *(["ro"] if each.read_only else [])] for each in mounts]
    assert [entry.split(":") for entry in entries] == [["/r", "/launch"], *expected]


@pytest.mark.parametrize(
    ("env", "versions", "expected"),
    [
        ({}, {}, []),
        ({"A": "1", "B": 'x,"y" $z', "C": ""}, {}, ["--container-env=A,B,C"]),
        # The later lines of a named value would become variables of the container.
        ({"A": "1", "B": "one\nHOME=/evil"}, {}, ["--container-env=A"]),
        ({"B": "\n"}, {}, []),
        ({"PATH": "/x", "SLURM_X": "1"}, {}, []),
        ({"A": "1"}, {"pyxis": "0.14.0"}, []),
        ({"A": "1"}, {"pyxis": "0.15"}, ["--container-env=A"]),
    ],
)
def test_environment_by_name(env, versions, expected):
    made = step(env=env, env_from=("TOKEN",))
    assert names(words(container(made, on(**versions)))) == expected


def test_a_join_says_nothing_of_an_image_and_cannot_write():
    root = Shared("img", (0,), step())
    found = words(container(step(writable=True, setup="setup/w.sh", env={"A": "1"}), on(), root))
    assert found[0] == "--container-name=launch-{job}-{id}-img:no_exec"
    assert not [word for word in found if "image" in word]
    assert "--container-readonly" in found
    assert "--container-mounts={run}:/launch" in found
    assert "--container-env=A" in found


def test_making_a_root_of_an_image():
    assert words(make(Shared("img", (0,), step(env={"A": "1"})), on())) == [
        "--container-image=a.io#b:1",
        "--container-name=launch-{job}-{id}-img:create",
        "--no-container-mount-home",
        "--no-container-entrypoint",
        "--no-container-remap-root",
        "--container-readonly",
        "--container-workdir=/",
    ]


def test_making_a_root_by_a_preamble():
    found = words(make(Shared("w", (0,), step(env={"A": "1"}, mounts=(Mount("/a", "/x"),)), setup=True), on()))
    assert found[1] == "--container-name=launch-{job}-{id}-w:create"
    assert "--container-writable" in found
    assert "--container-mounts={run}:/launch,/a:/x" in found
    assert "--container-env=A" in found


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["serve", "--at=/launch/x"]),
        ({"gpus": (0, 1)}, ["env", "CUDA_VISIBLE_DEVICES=0,1", "serve", "--at=/launch/x"]),
        ({"setup": "setup/w.sh"}, ["sh", "/launch/setup/w.sh", "serve", "--at=/launch/x"]),
        (
            {"setup": "setup/w.sh", "gpus": (1,), "env": {"PATH": "/launch/x", "A": "1"}},
            [
                *("env", "PATH=/launch/x", "CUDA_VISIBLE_DEVICES=1"),
                *("sh", "/launch/setup/w.sh", "serve", "--at=/launch/x"),
            ],
        ),
    ],
)
def test_inside(fields, expected):
    made = step(words=("serve", f"--at={ref('run')}/x"), **fields)
    assert words(inside(made, on())) == ["sh", "/launch/setup/_enter.sh", "worker-0", *expected]


def test_paths_are_those_of_the_container():
    assert seen(f"{ref('python')} {ref('run')}/a {ref('ip', 0)} {{run}}") == f"python3 /launch/a {ref('ip', 0)} {{run}}"
    assert variables(step(env={"A": f"{ref('run')}/a", "PATH": "/x"}), on()) == {"A": "/launch/a"}


@pytest.mark.parametrize(
    ("reference", "enroot", "said"),
    [
        (None, None, "no image"),
        ("oras://x", None, "oras"),
        (f"a/b@{DIGEST}", "3.5.0", "digests"),
        ("/a.sif", None, "Apptainer"),
        ("./a.sqsh", None, "absolute"),
    ],
)
def test_an_image_that_cannot_be_named_is_refused(reference, enroot, said):
    with pytest.raises(Refused) as refused:
        container(step(reference=reference), on(enroot=enroot))
    (found,) = refused.value.diagnostics
    assert found.code in CODES
    assert said in found.message


def test_secrets_are_never_words():
    made = step(env_from=("HF_TOKEN", "B"), setup="setup/w.sh", writable=True)
    found = (*container(made, on()), *inside(made, on()))
    # Their names alone, for the one program that gives them back.
    assert [shown(word) for word in found if "HF_TOKEN" in word] == ["HF_TOKEN B"]
    assert found[found.index("HF_TOKEN B") - 1] == "/launch/setup/_given.sh"


NAMES = st.sampled_from(["A", "b", "HOME", "PATH_", "LAUNCH_X", "LC_ALL", "X1"])
VALUES = st.binary(max_size=20).map(lambda value: value.replace(b"\0", b"\n"))


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@settings(max_examples=15, deadline=None)
@given(given_=st.dictionaries(NAMES, VALUES, max_size=3), image=st.dictionaries(NAMES, VALUES, max_size=3))
def test_values_get_their_own_names_back(shell, given_, image, tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "given.sh"
    path.write_text(FILES[0].text or "")
    show = "import os, sys; sys.stdout.buffer.write(repr((sys.argv[1:], dict(os.environb))).encode())"
    before = {f"{PREFIX}{name}".encode(): value for name, value in given_.items()}
    done = subprocess.run(
        [*shell, path, " ".join([*given_, "UNSET"]), sys.executable, "-c", show, "a b", ""],
        env={b"PATH": b"/usr/bin:/bin", **{name.encode(): value for name, value in image.items()}, **before},
        capture_output=True,
        check=True,
    )
    argv, found = ast.literal_eval(done.stdout.decode())
    assert argv == ["a b", ""]
    wanted = {name.encode(): value for name, value in {**image, **given_}.items()}
    assert {name: value for name, value in found.items() if name in wanted} == wanted
    assert not [name for name in found if name.startswith(b"LAUNCH__") or name == b"UNSET"]


def test_a_value_of_several_lines_goes_by_a_second_name():
    made = step(env={"A": "1", "B": "one\nHOME=/evil"})
    assert variables(made, on()) == {"A": "1", f"{PREFIX}B": "one\nHOME=/evil"}
    assert "--container-env=A" in words(container(made, on()))
    assert words(inside(made, on()))[3:6] == ["sh", "/launch/setup/_given.sh", "B"]


def test_a_pyxis_that_takes_no_names_is_told_none():
    made, old = step(env={"A": "1", "PATH": "/x"}, env_from=("T",)), on(pyxis="0.14.0")
    assert variables(made, old) == {f"{PREFIX}A": "1"}
    assert names(words(container(made, old))) == []
    assert words(inside(made, old))[3:6] == ["sh", "/launch/setup/_given.sh", "T A"]
