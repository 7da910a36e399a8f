"""What pyxis refuses: at srun with 255, on the node with 1 and a text."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.testbed.image import ENTRY, SHELLESS, TINY
from tests.testbed.site import Site


@dataclass(frozen=True)
class Refusal:
    """Options of a step (`{image}`, `{shared}` filled in) and a part of what it says when refused."""

    words: tuple[str, ...]
    text: str
    env: tuple[tuple[str, str], ...] = ()


IMAGE = "--container-image={image}"
AT_SRUN = {
    "an empty mount": Refusal((IMAGE, "--container-mounts=/etc:/a,,/etc:/b"), "Invalid --container-mounts argument"),
    "a mount of four fields": Refusal(
        (IMAGE, "--container-mounts=/etc:/a:ro:x"), "Invalid --container-mounts argument"
    ),
    "a tilde": Refusal((IMAGE, "--container-mounts=~/data:/data"), "Invalid --container-mounts argument"),
    "a variable": Refusal((IMAGE, "--container-mounts=$HOME:/data"), "Invalid --container-mounts argument"),
    "a source that is no path": Refusal(
        (IMAGE, "--container-mounts=data:/data"), "Invalid --container-mounts argument"
    ),
    "a target that is no path": Refusal((IMAGE, "--container-mounts=/etc:data"), "Invalid --container-mounts argument"),
    "two images": Refusal((IMAGE, "--container-image=/other.sqsh"), "specified multiple times"),
    "home and no home": Refusal((IMAGE, "--container-mount-home", "--no-container-mount-home"), "container-mount-home"),
    "a folder to save in": Refusal((IMAGE, "--container-save={shared}/"), "Invalid --container-save argument"),
    "an unknown option": Refusal((IMAGE, "--container-nonsense"), "unrecognized option '--container-nonsense'"),
}
ON_NODE = {
    "no such image": Refusal(
        ("--container-image=/nope/x.sqsh",), "pyxis: failed to create container filesystem for image: /nope/x.sqsh"
    ),
    "no such file": Refusal(("--container-image=/nope/x.sqsh",), "[ERROR] No such file or directory: /nope/x.sqsh"),
    "no squashfs": Refusal(("--container-image=/etc/passwd",), "[ERROR] Invalid image format: /etc/passwd"),
    "no shell": Refusal(("--container-image={shellless}",), "enroot-switchroot: failed to execute: /bin/sh"),
    "no source": Refusal(
        (IMAGE, "--container-mounts=/nope:/data"), "pyxis: --container-mounts: source path does not exist: /nope"
    ),
    "a file over a folder": Refusal((IMAGE, "--container-mounts=/etc/passwd:/usr"), "Not a directory"),
    "a double quote": Refusal(
        (IMAGE, '--container-mounts={shared}/"q:/q'), "unexpected EOF while looking for matching"
    ),
    "no workdir": Refusal(
        (IMAGE, "--container-workdir=/nope"), "pyxis: couldn't chdir to /nope: No such file or directory"
    ),
    "no name of a variable": Refusal((IMAGE, "--container-env= X"), "bad substitution"),
    "a home in a value": Refusal(
        (IMAGE, "--container-env=TOKEN"),
        "enroot-switchroot: failed to change directory: /evil",
        (("TOKEN", "a\nHOME=/evil"),),
    ),
    "no GPU program": Refusal(
        (IMAGE,), "Command not found: nvidia-container-cli", (("NVIDIA_VISIBLE_DEVICES", "all"),)
    ),
    "no login shell": Refusal(
        (IMAGE,), "enroot-switchroot: failed to execute: /bin/sh", (("ENROOT_LOGIN_SHELL", "n"),)
    ),
    "upper case": Refusal(("--container-image=reg.invalid#Upper/x:1",), "[ERROR] Invalid image reference: "),
    "an unknown name": Refusal(
        ("--container-name=nosuch",),
        'a container with name "pyxis_nosuch" does not exist, and --container-image is not set',
    ),
    "an unknown name to join": Refusal(
        ("--container-name=nosuch:no_exec",),
        'a container with name "pyxis_nosuch" does not exist, and --container-image is not set',
    ),
}
# Only a text that starts with . or / is a path; the rest are references, whatever they look like.
REFERENCES = ("x.sqsh", "file:///x.sqsh", "oras://reg.invalid/x:1", "docker://reg.invalid#x:1", "reg.invalid#x/y:1")


def fill(site: Site, words: tuple[str, ...]) -> list[str]:
    names = {"{image}": site.image(TINY), "{shellless}": site.image(SHELLESS), "{shared}": str(site.shared)}
    filled = list(words)
    for name, value in names.items():
        filled = [word.replace(name, value) for word in filled]
    return filled


@pytest.mark.parametrize("case", AT_SRUN.values(), ids=AT_SRUN)
def test_srun_refuses(pyxis: Site, case: Refusal) -> None:
    done = pyxis.step(*fill(pyxis, case.words), "true")
    assert (done.returncode, case.text in done.stderr) == (255, True), done.stderr


@pytest.mark.parametrize("case", ON_NODE.values(), ids=ON_NODE)
def test_the_node_refuses(pyxis: Site, case: Refusal) -> None:
    (pyxis.shared / '"q').mkdir(exist_ok=True)
    done = pyxis.step(*fill(pyxis, case.words), "true", env=dict(case.env))
    assert (done.returncode, case.text in done.stderr) == (1, True), done.stderr
    assert "task_init() failed with rc=-1" in done.stderr
    assert "task 0: Exited with exit code 1" in done.stderr


@pytest.mark.parametrize("reference", REFERENCES)
def test_what_is_no_path_is_a_reference(pyxis: Site, reference: str) -> None:
    done = pyxis.step(f"--container-image={reference}", "true")
    assert (done.returncode, "pyxis: failed to import docker image" in done.stderr) == (1, True), done.stderr


def test_a_refused_step_leaves_no_root(pyxis: Site) -> None:
    pyxis.step(f"--container-image={pyxis.image(TINY)}", "--container-mounts=/nope:/data", "true")
    assert pyxis.roots() == {}


def test_without_image_and_name_other_options_are_ignored_and_the_host_runs(pyxis: Site) -> None:
    done = pyxis.step("--container-mounts=/etc:/data", "--container-workdir=/data", "cat", "/proc/self/loginuid")
    assert done.returncode == 0
    said = "because neither --container-image nor --container-name is set"
    assert [f"ignoring --container-{name} {said}" in done.stderr for name in ("mounts", "workdir")] == [True, True]


def test_a_relative_path_starts_with_a_dot(pyxis: Site) -> None:
    image = Path(pyxis.image(ENTRY))
    (pyxis.shared / "here.sqsh").write_bytes(image.read_bytes())
    assert pyxis.step("--container-image=./here.sqsh", "pwd").stdout == "/srv/here\n"
