"""`launch images build`: by the real Docker and podman's service; bases of a registry here."""

import json
import subprocess
import tomllib

import pytest

from tests.cli.images.project import CONTAINERFILE, TOOL, Place


def test_built_pushed_converted_and_locked(place: Place, host: str) -> None:
    place.env = {"DOCKER_HOST": host}
    repository = f"{place.served.host}/{place.launch.home.name}/tool"
    words = f"build tool --network none --push {repository.removesuffix('/tool')} --tag 1.0 --tag main --json"
    status, out, err = place.images(words)
    assert status == 0, err
    assert f" at {host}" in err
    (made,) = json.loads(out)["images"]
    assert (made["reference"], made["built"]) == (f"docker://{repository}:1.0", True)
    assert place.inside(made["file"], "usr/local/bin/tool").endswith("echo tool 1.0\n")
    assert place.inside(made["file"], "said") == "tool 1.0\n"
    (locked,) = place.lock()
    assert (locked["reference"], locked["build"], locked["base"]) == (made["file"], made["key"], made["base"])
    assert (locked["versions"], locked["env"]["FROM_IMAGE"]) == ({"tool": "1.0"}, "yes")
    # The registry has it under both tags, and it says what it was built upon.
    for tag in ("1.0", "main"):
        target = f"docker://{repository}:{tag}"
        said = subprocess.run(["skopeo", "inspect", "--tls-verify=false", target], capture_output=True, check=True)
        found = json.loads(said.stdout)
        assert found["Digest"] == made["digest"]
        assert found["Labels"]["launcher.image.key"] == made["key"]
        name, _, digest = made["base"].partition("@")
        own = {key.rpartition(".image.")[2]: value for key, value in found["Labels"].items()}
        assert (own["base.name"], own["base.digest"], own["version"]) == (name, digest, "1.0")
    assert place.images("verify")[0] == 0
    status, out, err = place.images("build tool --network none")
    assert (status, "is built already" in err, made["file"] in out) == (0, True, True)


def test_a_step_that_fails_is_shown(place: Place, host: str) -> None:
    place.env = {"DOCKER_HOST": host}
    text = CONTAINERFILE.replace("RUN tool >/said", "RUN echo before; \\\n    nosuchprogram")
    path = place.write("images/tool/Containerfile", text)
    status, out, err = place.images("build tool --network none")
    assert (status, out) == (4, "")
    assert "error[build-failed]: `tool` could not be built: " in err
    assert f"{path}:11:1\n" in err
    assert "= note: before\n" in err
    assert "nosuchprogram: not found\n" in err
    assert not (place.launch.home / "launch.lock").exists()
    assert list((place.launch.home / "store").iterdir()) == []


WRONG = [
    ("build tol", 2, "error[unknown-definition]: no image definition is named `tol`", "did you mean `tool`?"),
    (
        "build tool --arg TOOL_VERISON=1",
        2,
        "`tool` has no build argument `TOOL_VERISON`",
        "did you mean `TOOL_VERSION`?",
    ),
    ("build tool --arg TOOL_VERSION", 2, "`--arg` does not take `TOOL_VERSION`", "--arg SMG_VERSION"),
    ("build tool sim --push r.io/a:1", 2, "several images cannot have one reference", "--push ghcr.io/me"),
    ("build tool --push /a", 2, "`--push`: ", "ghcr.io/me"),
    ("build tool --wheels ./none", 2, "`./none` is no folder", "pip download"),
    ("build tool --with layers", 3, "images/tool/Containerfile:4:1", "--with docker"),
    ("build both --with layers", 3, "images/both/Containerfile:2:1", "`COPY mine /mine`"),
    ("build both", 4, "error[image-absent]: nothing answers as Docker does", "unix:///nonexistent"),
    ("build other", 3, "images/other/Containerfile:2:1", "write `FROM ${BASE}`"),
    ("build other --with apptainer", 3, "images/other/other.def:6:1", "write `From: {{ BASE }}`"),
    ("build tool --with apptainer", 4, "Apptainer builds files for a store of SIF files", "--cluster"),
    ("build tool --base {host}/none:1", 4, "error[image-absent]: `{host}` has no `none:1`", "spelt right"),
    ("build tool --base /i/x.sqsh", 4, "the base `/i/x.sqsh` is no image of a registry", ""),
    ("build broken", 3, "images/broken/image.toml:3:1", "did you mean `description`?"),
]


@pytest.mark.parametrize(("words", "status", "said", "advice"), WRONG)
def test_what_is_wrong_is_said(place: Place, words: str, status: int, said: str, advice: str) -> None:
    text = TOOL.format(base="a:1").replace("description", "descripton").replace("schema = 1", "schema = 1\n")
    place.write("images/broken/image.toml", text)
    copy = f'[[copy]]\nfrom = "{place.base}"\nsource = "/bin/sh"\ntarget = "/b"\n'
    place.write("images/both/image.toml", TOOL.format(base=place.base) + copy)
    place.write("images/both/Containerfile", "FROM ${BASE}\nCOPY mine /mine\n")
    place.write("images/other/image.toml", TOOL.format(base=place.base))
    place.write("images/other/Containerfile", "ARG BASE\nFROM a:1\n")
    place.write(
        "images/other/other.def", "Bootstrap: docker\nFrom: {{ BASE }}\nStage: one\n\nBootstrap: docker\nFrom: a:1\n"
    )
    done = place.images(words.format(host=place.served.host), {"DOCKER_HOST": "unix:///nonexistent"})
    assert (done[0], done[1]) == (status, ""), done[2]
    assert said.format(host=place.served.host) in done[2]
    assert advice in done[2]


def test_what_would_be_built(place: Place) -> None:
    status, out, _ = place.images("build tool --dry-run --json")
    (shown,) = json.loads(out)["images"]
    assert (status, shown["built"], shown["args"]) == (0, False, {"TOOL_VERSION": "1.0"})
    assert shown["base"].startswith(f"{place.base}@sha256:")
    other = json.loads(place.images("build tool --arg TOOL_VERSION=2 --dry-run --json")[1])["images"][0]
    assert (other["key"] != shown["key"], other["programs"]) == (True, {"tool": "2"})
    assert not (place.launch.home / "store").exists()


def test_a_life_of_an_alias_that_is_a_definition(place: Place, docker: str) -> None:
    place.env = {"DOCKER_HOST": docker}
    place.site("")
    place.write("r.toml", 'schema = 1\nname = "r"\n[roles.worker]\nmanifest = "sim"\nimage = "mine"\n')
    assert place.images("add mine --build tool")[0] == 0
    assert 'mine = {build = "tool"}' in (place.launch.home / "site.toml").read_text()
    assert place.images("ls")[1].split()[-7:] == ["mine", "definition", "tool", "tool", "1.0", "not", "built"]
    done = place.launch("check", "r.toml", "--cluster", "./site.toml")
    assert (done.returncode, "error[image-not-built]" in done.stderr + done.stdout) == (4, True)
    assert place.images("build mine --network none")[0] == 0
    done = place.launch("check", "r.toml", "--cluster", "./site.toml")
    assert done.returncode == 0, done.stdout
    shown = place.launch("render", "r.toml", "--cluster", "./site.toml").stdout
    assert place.lock()[0]["reference"] in shown
    assert place.images("ls")[1].split()[-1] == "built"
    # Other arguments: told, and what was built is used until it is built anew.
    assert place.images("set mine --build tool --arg TOOL_VERSION=2.0")[0] == 0
    done = place.launch("check", "r.toml", "--cluster", "./site.toml")
    assert (done.returncode, "warning[image-stale]" in done.stdout + done.stderr) == (0, True)
    assert "changed since it was built" in place.images("ls")[1]
    assert place.images("build mine --network none")[0] == 0
    assert place.lock()[0]["versions"] == {"tool": "2.0"}
    assert "argument    TOOL_VERSION=2.0" in place.images("show mine")[1]
    # `--set` keeps the definition, with the arguments that were used.
    assert place.images("build mine --network none --arg TOOL_VERSION=3.0 --set")[0] == 0
    assert tomllib.loads((place.launch.home / "site.toml").read_text())["images"]["mine"] == {
        "build": "tool",
        "args": {"TOOL_VERSION": "3.0"},
    }
    assert place.lock()[0]["versions"] == {"tool": "3.0"}
    assert place.images("lock")[0] == 0
    assert place.lock()[0]["versions"] == {"tool": "3.0"}
    assert place.images("set mine docker.io/x/y:1")[0] == 0
    assert 'mine = "docker.io/x/y:1"' in (place.launch.home / "site.toml").read_text()
