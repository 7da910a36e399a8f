"""`launch images build` by the real Apptainer, as a user who is not root; bases of registries here."""

import json
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.images import inspect
from tests.cli.images.project import TOOL, Place, inside, told
from tests.testbed import bases, image, registry
from tests.testbed.registry import Served

DEFINITION = """\
Bootstrap: docker
From: {{ BASE }}

%arguments
    BASE=none
    TOOL_VERSION=0

%files
    wheels /wheels

%post
    echo tool {{ TOOL_VERSION }} >/said
    ls /wheels >>/said
"""

STAGES = """\
Bootstrap: docker
From: {{ TOOLS }}
Stage: tools

%arguments
    TOOLS=none

Bootstrap: docker
From: {{ BASE }}

%arguments
    BASE=none

%files from tools
    /bin/sh /usr/bin/tool
"""


def test_a_login_is_for_its_own_registry(
    unprivileged: Place, based: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The base wants a login, the registry of another stage is not shown it."""
    place = unprivileged
    with (
        registry.registry(tmp_path_factory.mktemp("closed"), password=True) as closed,
        registry.proxy(based.host) as open_,
    ):
        open_.bearer = True
        base = bases.pushed(closed, image.TINY)
        tools = f"{open_.host}/base:1"
        copy = '\n[[copy]]\nfrom = "${TOOLS}"\nsource = "/bin/sh"\ntarget = "/usr/bin/tool"\n'
        text = TOOL.format(base=base).replace("[args]", f'[args]\nTOOLS = "{tools}"')
        place.write("images/tool/image.toml", text + copy)
        place.write("images/tool/tool.def", STAGES)
        place.site('tool = { build = "tool" }', runtime="apptainer")
        known = {"auths": {closed.host: {"username": registry.USER, "password": registry.PASSWORD}}}
        env = {"DOCKER_AUTH_CONFIG": json.dumps(known)}
        status, out, err = place.images("build tool --with apptainer --json", env)
        assert status == 0, err
        (made,) = json.loads(out)["images"]
        assert inside(made["file"], "/usr/bin/tool", "-c", "echo tool") == "tool\n"
        assert any(path.startswith("/token") for path in open_.paths("GET"))
        shown = [value for _, _, headers in open_.seen for name, value in headers.items() if name == "Authorization"]
        assert {value.partition(" ")[0] for value in shown} == {"Bearer"}


def test_built_by_apptainer_as_an_ordinary_user(unprivileged: Place) -> None:
    """`%post` of a definition needs no root; the store has the file, and Apptainer runs it."""
    place, home = unprivileged, unprivileged.launch.home
    place.write("images/tool/image.toml", TOOL.format(base=place.base))
    place.site('tool = { build = "tool" }', runtime="apptainer")
    place.write("images/tool/tool.def", DEFINITION)
    wheels = place.write("mine/a.whl", "a").parent

    def built(more: str = "") -> dict[str, Any]:
        status, out, err = place.images(f"build tool --json {more}")
        assert status == 0, err
        (made,) = json.loads(out)["images"]
        assert (made["builder"], Path(made["file"]).parent) == ("apptainer", home / "store")
        return dict(made)

    made = built(f"--wheels {wheels}")
    assert inside(made["file"], "cat", "/said").split() == ["tool", "1.0", "a.whl"]
    assert inspect.file(Path(made["file"])).header.compressor == "zstd"
    labels = json.loads(told("inspect", "--json", made["file"]))["data"]["attributes"]["labels"]
    assert labels["launcher.image.key"] == made["key"]
    assert labels["org.opencontainers.image.description"] == "a tool of ours"
    assert place.lock()[0]["build"] == made["key"]
    assert built() == {**made, "built": False}
    # Another project of the same store.
    (home / "launch.lock").unlink()
    assert (built(f"--wheels {wheels}"), len(place.lock())) == ({**made, "built": False}, 1)
    place.write("mine/b.whl", "b")
    other = built(f"--wheels {wheels}")
    assert (other["built"], inside(other["file"], "cat", "/said").split()[2:]) == (True, ["a.whl", "b.whl"])
    assert inside(made["file"], "cat", "/said").split()[2:] == ["a.whl"]
    when = Path(other["file"]).stat().st_mtime_ns
    again = built(f"--wheels {wheels} --again")
    assert (again, Path(other["file"]).stat().st_mtime_ns > when) == (other, True)


def test_an_argument_is_one_whatever_it_holds(unprivileged: Place) -> None:
    """Commas and quotes part nothing."""
    place = unprivileged
    place.write("images/tool/image.toml", TOOL.format(base=place.base))
    place.site('tool = { build = "tool" }', runtime="apptainer")
    place.write("images/tool/tool.def", DEFINITION)
    status, out, err = place.images("""build tool --json --arg 'TOOL_VERSION=1,OTHER="2 3"'""")
    assert status == 0, err
    (made,) = json.loads(out)["images"]
    assert inside(made["file"], "cat", "/said") == "tool 1,OTHER=2 3\n"
