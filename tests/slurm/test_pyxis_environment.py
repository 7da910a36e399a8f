"""Which variables a container sees, and whose value wins."""

from dataclasses import dataclass

import pytest

from tests.testbed.image import TINY
from tests.testbed.site import Site


@dataclass(frozen=True)
class Case:
    """Variables of srun, the value of --container-env, a variable to print, and what it must be (None: unset)."""

    env: dict[str, str]
    named: str | None
    name: str
    value: str | None


ODD = "a,b 'c' \"d\" $HOME `id` \\ {x} ü"
CASES = {
    "the job's is seen": Case({"MINE": "here"}, None, "MINE", "here"),
    "the image's is seen": Case({}, None, "IMAGE_ONLY", "yes"),
    "the image's wins": Case({"COMMON": "from-host"}, None, "COMMON", "from-image"),
    "a named one wins": Case({"COMMON": "from-host"}, "COMMON", "COMMON", "from-host"),
    "of two options only the last counts": Case(
        {"COMMON": "from-host"}, "COMMON --container-env=MINE", "COMMON", "from-image"
    ),
    "a named empty one wins": Case({"COMMON": ""}, "COMMON", "COMMON", ""),
    "a named one that is not set does not": Case({}, "COMMON", "COMMON", "from-image"),
    "a name with a value does nothing": Case({}, "COMMON=set", "COMMON", "from-image"),
    "odd characters, not named": Case({"MINE": ODD}, None, "MINE", ODD),
    "odd characters, named": Case({"COMMON": ODD}, "COMMON", "COMMON", ODD),
    "several lines, not named": Case({"MINE": "a\nLEAK=b\n"}, None, "MINE", "a\nLEAK=b\n"),
    "several lines, not named, leak nothing": Case({"MINE": "a\nLEAK=b\n"}, None, "LEAK", None),
    "several lines, named, leak": Case({"MINE": "a\nLEAK=b"}, "MINE", "LEAK", "b"),
    "several lines that the image defines are lost": Case({"COMMON": "a\nb"}, None, "COMMON", "from-image"),
    "LANG is dropped": Case({"LANG": "de_DE.UTF-8"}, None, "LANG", None),
    "LC_ALL is dropped": Case({"LC_ALL": "C"}, None, "LC_ALL", None),
    "LANGUAGE is dropped": Case({"LANGUAGE": "de"}, None, "LANGUAGE", None),
    "a named LANG is kept": Case({"LANG": "de_DE.UTF-8"}, "LANG", "LANG", "de_DE.UTF-8"),
    "LD_LIBRARY_PATH leaks": Case({"LD_LIBRARY_PATH": "/of/the/host"}, None, "LD_LIBRARY_PATH", "/of/the/host"),
    "a long one": Case({"MINE": "x" * 131_000}, "MINE", "MINE", "x" * 131_000),
}


@pytest.fixture(scope="module")
def image(pyxis: Site) -> str:
    return f"--container-image={pyxis.image(TINY)}"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_environment(pyxis: Site, image: str, case: Case) -> None:
    named = [] if case.named is None else f"--container-env={case.named}".split(" ")
    line = f'echo "${{{case.name}+set}}"; printf %s "${case.name}"'
    done = pyxis.step(image, *named, "sh", "-c", line, env=case.env)
    assert done.returncode == 0, done.stderr
    state, _, value = done.stdout.partition("\n")
    assert (value if state else None) == case.value


def test_an_inner_env_always_wins(pyxis: Site, image: str) -> None:
    done = pyxis.step(
        image, "--container-env=COMMON", "env", "COMMON=inner", "sh", "-c", "echo $COMMON", env={"COMMON": "x"}
    )
    assert done.stdout == "inner\n"


SAY = ("sh", "-c", "echo $PATH")


# The programs of the image are in /opt/image/bin, which its ENV has on PATH, and in /usr/local/bin.
@pytest.mark.parametrize(
    ("options", "words", "code", "printed"),
    [
        ((), ("greet",), 2, ""),
        ((), ("/opt/image/bin/greet",), 0, "greetings\n"),
        ((), ("env", "PATH=/opt/image/bin:/bin", "greet"), 0, "greetings\n"),
        ((), ("usual",), 0, "usual\n"),
        ((), SAY, 0, "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games\n"),
        (
            ("--container-remap-root",),
            SAY,
            0,
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
        ),
        (("--container-env=PATH",), SAY, 0, "{path}\n"),
    ],
)
def test_a_login_shell_decides_about_path(
    pyxis: Site, image: str, options: tuple[str, ...], words: tuple[str, ...], code: int, printed: str
) -> None:
    path = pyxis.run(["sh", "-c", "echo $PATH"]).stdout.strip()
    done = pyxis.step(image, *options, *words)
    assert (done.returncode, done.stdout) == (code, printed.replace("{path}", path)), done.stderr


def test_the_image_s_path_counts_where_the_job_has_none(pyxis: Site, image: str) -> None:
    done = pyxis.step(image, "--export=NONE", "sh", "-c", "echo $IMAGE_ONLY")
    assert (done.returncode, done.stdout) == (0, "yes\n"), done.stderr


def test_words_arrive_to_the_byte(pyxis: Site, image: str) -> None:
    words = ["", " ", "a\nb", "'\"", "$HOME `id` *", "--flag=x", "ü"]
    done = pyxis.step(image, "--", "sh", "-c", 'for w; do printf "%s\\0" "$w"; done', "sh", *words)
    assert done.stdout.split("\0")[:-1] == words


@pytest.mark.parametrize(
    ("options", "env", "printed"),
    [
        ((), {"PYXIS_CONTAINER_IMAGE": "{image}"}, "from-image\n"),
        ((), {}, "\n"),
        (("--container-image={image}",), {"PYXIS_CONTAINER_IMAGE": "/nope.sqsh"}, "from-image\n"),
        ((), {"PYXIS_CONTAINER_IMAGE": "{image}", "PYXIS_CONTAINER_ENV": "COMMON", "COMMON": "mine"}, "mine\n"),
        (
            ("--container-env=OTHER",),
            {"PYXIS_CONTAINER_IMAGE": "{image}", "PYXIS_CONTAINER_ENV": "COMMON", "COMMON": "mine"},
            "from-image\n",
        ),
    ],
)
def test_variables_stand_for_options_and_options_win(
    pyxis: Site, options: tuple[str, ...], env: dict[str, str], printed: str
) -> None:
    found = pyxis.image(TINY)
    words = [word.replace("{image}", found) for word in options]
    variables = {name: value.replace("{image}", found) for name, value in env.items()}
    done = pyxis.step(*words, "sh", "-c", "echo $COMMON", env=variables)
    assert done.stdout == printed, done.stderr


@pytest.mark.parametrize(
    ("options", "printed"), [((), "0\n"), (("--no-container-remap-root",), None), (("--container-remap-root",), "0\n")]
)
def test_a_negative_option_beats_the_variable(
    pyxis: Site, image: str, options: tuple[str, ...], printed: str | None
) -> None:
    uid = pyxis.run(["id", "-u"]).stdout
    done = pyxis.step(image, *options, "id", "-u", env={"PYXIS_CONTAINER_REMAP_ROOT": "1"})
    assert done.stdout == (uid if printed is None else printed)
