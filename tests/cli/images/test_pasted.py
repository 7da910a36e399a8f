"""What messages tell people to type, typed: it is about the cluster and the lock that were meant, and mends it."""

import re
import shlex
import shutil

import pytest

from tests.cli.images.project import Place
from tests.testbed import image

RECIPE = 'schema = 1\nname = "r"\n[roles.worker]\nmanifest = "sim"\nimage = "{image}"\n'


@pytest.fixture
def place(place: Place) -> Place:
    """A cluster in a file whose path a shell would take apart, and a recipe in a folder of its own."""
    place.only_copy()
    shutil.copy(image.squashfs(image.TINY), place.launch.home / "i.sqsh")
    place.site(f'tool = {{ build = "tool" }}\nfile = "{place.launch.home}/i.sqsh"')
    (place.launch.home / "my sites").mkdir()
    (place.launch.home / "site.toml").rename(place.launch.home / "my sites/it's.toml")
    return place


def advised(said: str, verb: str) -> list[str]:
    """The words of the command that a message has."""
    (found,) = {line for line in re.findall(r"`launch ([^`]+)`", said) if line.startswith(verb)}
    return shlex.split(found)


NAMED = [("--cluster", "./my sites/it's.toml"), ()]
"""The cluster on the command line, or in `LAUNCH_CLUSTER`."""


def run(place: Place, named: tuple[str, ...], *words: str) -> tuple[int, str]:
    env = {} if named else {"LAUNCH_CLUSTER": "./my sites/it's.toml"}
    done = place.launch(*words, *named, env=env)
    return done.returncode, done.stdout + done.stderr


def pasted(place: Place, words: list[str]) -> tuple[int, str]:
    done = place.launch(*words)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("named", NAMED)
def test_what_is_not_built(place: Place, named: tuple[str, ...]) -> None:
    place.write("recipes/r.toml", RECIPE.format(image="tool"))
    status, said = run(place, named, "check", "recipes/r.toml")
    assert (status, "error[image-not-built]" in said) == (4, True), said
    words = advised(said, "images build")
    status, said = pasted(place, words)
    assert status == 0, said
    # The lock is where the recipe has it, and not here.
    assert (place.launch.home / "recipes/launch.lock").exists()
    status, said = run(place, named, "check", "recipes/r.toml")
    assert (status, "image-not" in said) == (0, False), said
    status, said = run(place, named, "images", "show", "tool")
    assert advised(said, "images build")[:3] == ["images", "build", "tool"]


@pytest.mark.parametrize("named", NAMED)
def test_what_is_not_locked(place: Place, named: tuple[str, ...]) -> None:
    place.write("recipes/r.toml", RECIPE.format(image="file"))
    status, said = run(place, named, "check", "recipes/r.toml", "--probe")
    assert "warning[image-unlocked]" in said, said
    assert pasted(place, advised(said, "images lock"))[0] == 0
    status, said = run(place, named, "check", "recipes/r.toml", "--probe")
    assert "image-unlocked" not in said
    status, said = run(place, named, "images", "verify", "--lock", "other dir.lock")
    assert status == 2, said
    assert pasted(place, advised(said, "images lock"))[0] == 0
    assert run(place, named, "images", "verify", "--lock", "other dir.lock")[0] == 0
    status, said = run(place, named, "images", "ensure", "tool")
    assert (status, advised(said, "images build")[3:]) == (2, ["--cluster", "./my sites/it's.toml"])
