"""The definitions of images that are shipped: whole, and of one mind with the role manifests and catalogues."""

import re
import tomllib
from pathlib import Path

import pytest

from launcher.execute.images.buildable import based, copies
from launcher.execute.library import Files
from launcher.model.definition import BASE, CONTAINERFILE, FILE, Definition, fill, find, read
from launcher.model.linking import Linking

ROOT = Path(__file__).parents[2]
NAMES = ("bench", "envoy", "llm-d", "sglang-router", "sim", "smg", "vllm-router")
ARG = re.compile(r"^ARG (\w+)=(.*)$", re.MULTILINE)
ARGUMENTS = re.compile(r"^%arguments\n((?:    .*\n)+)", re.MULTILINE)
OPTIONS = {"PIP_NO_INDEX": ""}
"""What the launcher says of its own accord, beside the base."""


def definition(name: str) -> Definition:
    linking = Linking(Files({}))
    folder = find(linking, name, None)
    found = read(linking, folder) if folder else None
    assert found is not None, linking.findings
    return found


def test_all_are_found() -> None:
    assert tuple(Files({}).images()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_a_definition_agree(name: str) -> None:
    found, folder = definition(name), ROOT / "images" / name
    wanted = {**found.args, BASE: found.base}
    said = dict(ARG.findall((folder / CONTAINERFILE).read_text()))
    assert {key: value for key, value in said.items() if key not in OPTIONS} == wanted
    lines = "".join(ARGUMENTS.findall((folder / f"{name}.def").read_text())).split()
    assert dict(line.split("=", 1) for line in lines if line.split("=")[0] not in OPTIONS) == wanted
    assert [path for path, _ in found.folder.files] == sorted((CONTAINERFILE, FILE, f"{name}.def"))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_copied_is_what_the_containerfile_copies(name: str) -> None:
    found, text = definition(name), (ROOT / "images" / name / CONTAINERFILE).read_text()
    stages = {
        stage: fill(image, {**found.args, BASE: found.base})
        for image, stage in re.findall(r"^FROM (\S+) AS (\S+)$", text, re.MULTILINE)
    }
    copied = re.findall(r"^COPY --from=(\S+) (\S+) (\S+)$", text, re.MULTILINE)
    if found.file.copies:
        assert tuple((stages[stage], source, target) for stage, source, target in copied) == found.copies


@pytest.mark.parametrize("name", NAMES)
def test_those_that_only_copy_need_no_docker(name: str) -> None:
    found, folder = definition(name), ROOT / "images" / name
    assert copies(found, folder) == (name in ("envoy", "llm-d"))
    for builder in ("docker", "apptainer"):
        based(found, folder, builder)


@pytest.mark.parametrize("name", NAMES)
def test_versions_are_those_whose_flags_are_known(name: str) -> None:
    for program, version in definition(name).programs.items():
        assert (ROOT / "manifests" / "flags" / program / f"{version}.json").exists()
        manifest = ROOT / "manifests" / f"{program}.toml"
        if manifest.exists():
            assert tomllib.loads(manifest.read_text())["program"]["version"] == version


def test_what_the_simulated_engine_imports_is_what_it_was_tried_with() -> None:
    """Each argument is a distribution, of the version that the tests run with."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    for name, version in definition("sim").args.items():
        assert pinned[name.removesuffix("_VERSION").lower().replace("_", "-")] == version


def test_each_role_that_is_built_has_its_programs() -> None:
    """What role manifests call by its name on `PATH` is copied there."""
    copied = {target.rpartition("/")[2] for name in NAMES for _, _, target in definition(name).copies}
    assert copied == {"envoy", "epp", "pd-sidecar"}
