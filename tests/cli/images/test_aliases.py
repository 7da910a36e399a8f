"""`launch images ls|show|add|set|rm`."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.program import Program

OWN = "config/launch/clusters/gb300.toml"


@pytest.fixture
def launch(tmp_path: Path) -> Program:
    """The real program, in a directory of its own."""
    return Program(tmp_path)


def test_a_life_of_an_alias(launch: Program) -> None:
    steps = [
        ("images add mine nvcr.io/nvidia/x:1 --cluster gb300", 0, "`mine` is in "),
        ("images add mine nvcr.io/nvidia/x:2 --cluster gb300", 3, "has an image alias `mine` already"),
        ("images set mine nvcr.io/nvidia/x:2 --version x=2.0 --cluster gb300", 0, "`mine` is in "),
        ("images set mine /i/x.sqsh --arch x86_64 --cluster gb300", 0, "no longer said to have x 2.0"),
        ("images set mine --cluster gb300", 2, "nothing to set"),
        ("images set mine --version x --cluster gb300", 2, "`--version` does not take `x`"),
        ("images set mnie /i/x.sqsh --cluster gb300", 2, "did you mean `mine`?"),
        ("images set mine /i/x.sif --cluster gb300", 4, "an image of Apptainer"),
        ("images set mine --build vllm-routr --cluster gb300", 2, "error[unknown-definition]"),
        ("images add other --build vllm-routr --cluster gb300", 2, "did you mean `vllm-router`?"),
        ("images rm vllm --cluster gb300", 3, "images/clusters/gb300.toml"),
    ]
    for words, status, said in steps:
        done = launch(*shlex.split(words))
        assert (done.returncode, said in done.stderr) == (status, True), (words, done.stderr)
    own = (launch.home / OWN).read_text()
    assert own == (
        'schema = 1\nname = "gb300"\n\n[images]\nmine = {reference = "nvcr.io/nvidia/x:2", x86_64 = "/i/x.sqsh"}\n'
    )
    listed = json.loads(launch("images", "ls", "--cluster", "gb300", "--json").stdout)
    assert listed["images"]["mine"] == {"reference": "nvcr.io/nvidia/x:2", "x86_64": "/i/x.sqsh"}
    assert listed["images"]["vllm"]["reference"].startswith("docker.io/vllm/")
    assert launch("images", "rm", "mine", "--cluster", "gb300").returncode == 0
    assert "mine" not in (launch.home / OWN).read_text()


def test_what_is_not_set_stays(launch: Program) -> None:
    own = launch.home / OWN
    own.parent.mkdir(parents=True)
    own.write_text('schema = 1\nname = "gb300"\n[images]\nx = { reference = "/raid/x.sqsh", where = "compute" }\n')
    assert launch("images", "set", "x", "/raid/y.sqsh", "--cluster", "gb300").returncode == 0
    assert 'x = { reference = "/raid/y.sqsh", where = "compute" }' in own.read_text()
    assert launch("images", "set", "x", "--version", "x=1", "--cluster", "gb300").returncode == 0
    listed = json.loads(launch("images", "ls", "--cluster", "gb300", "--json").stdout)["images"]["x"]
    assert listed == {"reference": "/raid/y.sqsh", "where": "compute", "versions": {"x": "1"}}


def test_a_lower_file_shines_through(launch: Program) -> None:
    assert launch("images", "set", "smg", "ghcr.io/x/smg:2", "--cluster", "gb300").returncode == 0
    assert "ghcr.io/x/smg:2" in launch("images", "ls", "--cluster", "gb300").stdout
    done = launch("images", "rm", "smg", "--cluster", "gb300")
    assert "`smg` now means what `" in done.stderr
    assert "docker.io/lightseekorg/smg:v1.13.0" in launch("images", "ls", "--cluster", "gb300").stdout


@pytest.mark.parametrize(
    ("word", "status", "lines"),
    [
        (
            "nvcr.io/nvidia/x:1",
            0,
            ["pyxis       nvcr.io#nvidia/x:1", "apptainer   docker://nvcr.io/nvidia/x:1", "registry    nvcr.io"],
        ),
        ("vllm", 0, ["registry    registry-1.docker.io", "written in  "]),
        ("vlm", 2, []),
        ("/i/x.sif", 4, ["kind        SIF file", "apptainer   /i/x.sif", "file        `/i/x.sif` does not exist"]),
        ("Upper/x", 4, ["kind        no reference"]),
        ("dockerd://x", 0, ["kind        image of Docker on the nodes"]),
    ],
)
def test_show_both_ways(launch: Program, word: str, status: int, lines: list[str]) -> None:
    done = launch("images", "show", word, "--cluster", "gb300")
    assert done.returncode == status
    assert all(line in done.stdout for line in lines)
    if status != 2:
        shown = json.loads(launch("images", "show", word, "--cluster", "gb300", "--json").stdout)
        assert (shown["image"]["reference"]["fault"] is None) == (status == 0)
