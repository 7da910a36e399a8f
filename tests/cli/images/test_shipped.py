"""The shipped definitions built by the real Docker, podman's service and Apptainer, and what was built run."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.images import shipped
from tests.cli.images.project import Place, told
from tests.cli.program import ROOT
from tests.execute.test_envoy import made as planned

PIP = ("bench", "sglang-router", "sim", "smg", "vllm-router")
HEAVY = pytest.mark.heavy


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One of ours for Envoy."""
    _, plan = planned(tmp_path_factory.mktemp("plan"))
    (file,) = [file for file in plan.files if file.path == "llm-d/envoy.json"]
    return json.dumps(file.data)


def built(place: Place, words: str, env: dict[str, str]) -> dict[str, str]:
    """What came of `launch images build`, of as much as there is in the largest."""
    place.timeout = 800
    status, out, err = place.images(words, env)
    assert status == 0, err
    (made,) = json.loads(out)["images"]
    return dict(made)


@pytest.mark.parametrize(
    ("name", "builder"),
    [
        ("envoy", "docker"),
        ("llm-d", "podman"),
        ("sim", "docker"),
        ("vllm-router", "podman"),
        pytest.param("bench", "docker", marks=HEAVY),
        pytest.param("bench", "podman", marks=HEAVY),
        pytest.param("envoy", "podman", marks=HEAVY),
        pytest.param("llm-d", "docker", marks=HEAVY),
        pytest.param("sglang-router", "docker", marks=HEAVY),
        pytest.param("sglang-router", "podman", marks=HEAVY),
        pytest.param("sim", "podman", marks=HEAVY),
        pytest.param("smg", "docker", marks=HEAVY),
        pytest.param("smg", "podman", marks=HEAVY),
        pytest.param("vllm-router", "docker", marks=HEAVY),
    ],
)
def test_by_a_daemon(place: Place, request: pytest.FixtureRequest, name: str, builder: str, bootstrap: str) -> None:
    host = request.getfixturevalue(builder)
    place.site("", runtime="none", store=False)
    words = f"{shipped.words(name, place.served)} --with docker --network none"
    made = built(place, words, {"DOCKER_HOST": host})
    said = shipped.ran(host, made["local"], shipped.RUN[name], bootstrap)
    assert [text for text in shipped.SAYS[name] if text not in said] == [], said


@pytest.mark.parametrize(
    "name", ["llm-d", "vllm-router", *(pytest.param(each, marks=HEAVY) for each in ("envoy", *PIP[:4]))]
)
def test_by_apptainer(unprivileged: Place, tmp_path: Path, name: str, bootstrap: str) -> None:
    unprivileged.site("", runtime="apptainer")
    made = built(unprivileged, f"{shipped.words(name, unprivileged.served)} --with apptainer", {})
    said = entered(made["file"], name, tmp_path, bootstrap)
    assert [text for text in shipped.SAYS[name] if text not in said] == [], said


@pytest.mark.parametrize("name", ["llm-d", pytest.param("envoy", marks=HEAVY)])
def test_from_layers(place: Place, tmp_path: Path, name: str, bootstrap: str) -> None:
    made = built(place, f"{shipped.words(name, place.served)} --with layers", {})
    said = entered(made["file"], name, tmp_path, bootstrap)
    assert [text for text in shipped.SAYS[name] if text not in said] == [], said


def entered(file: str, name: str, folder: Path, bootstrap: str) -> str:
    """What the programs of a `.sif` or a `.sqsh` say."""
    (folder / "envoy.json").write_text(bootstrap)
    bind = f"--bind={folder}/envoy.json:/tmp/envoy.json"
    return told(
        "exec", "--userns", "--no-home", "--cleanenv", bind, file, "sh", "-c", f"exec 2>&1; {shipped.RUN[name]}"
    )


@pytest.mark.parametrize("file", ["Containerfile", "{}.def"])
def test_those_that_install_are_alike(file: str) -> None:
    """What holds for a router that is built here holds for the others."""
    texts = set()
    for name in ("sglang-router", "smg", "vllm-router"):
        text = (ROOT / "images" / name / file.format(name)).read_text()
        argument = f"{name.replace('-', '_').upper()}_VERSION"
        text = re.sub(rf"{argument}=[\d.]+", "VERSION=1", text).replace(argument, "VERSION")
        texts.add(text.replace(name, "NAME"))
    assert len(texts) == 1
