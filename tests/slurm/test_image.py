"""Images for the testbed: the same to the byte each time, with what they say."""

import subprocess
from pathlib import Path

import pytest

from tests.testbed import apptainer, cache, image, layout
from tests.testbed.layout import Layout


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "fresh")
    return tmp_path / "fresh"


def test_an_image_is_the_same_to_the_byte(fresh: Path) -> None:
    first = image.squashfs(image.TINY).read_bytes()
    subprocess.run(["rm", "-rf", fresh], check=True)
    assert image.squashfs(image.TINY).read_bytes() == first


def test_it_is_made_once(fresh: Path) -> None:
    made = image.squashfs(image.SHELLESS)
    stamp = made.stat().st_ino
    assert (image.squashfs(image.SHELLESS), made.stat().st_ino) == (made, stamp)


def test_other_parts_are_another_file(fresh: Path) -> None:
    places = [cache.made("thing.txt", [part], Path.touch) for part in (1, 2)]
    assert len(set(places)) == 2


def test_what_cannot_be_had_is_named() -> None:
    with pytest.raises(RuntimeError, match="need the distribution no-such-thing"):
        image.root(image.Image("odd", python=True, distributions=("no-such-thing",)))


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (Layout(), "NodeName=node[1-4] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[17001-17004]"),
        (Layout(networks=("eth0",)), "NodeName=node2 NodeAddr=10.77.0.102 Port=17002"),
        (Layout(affinity=True), "TaskPlugin=task/affinity"),
        (Layout(kill_wait=2), "KillWait=2"),
        (Layout(lines=("A=b",)), "A=b"),
    ],
)
def test_layouts(made: Layout, line: str) -> None:
    text = layout.slurm_conf(made, Path("/bed"))
    assert any(each.startswith(line) for each in text.splitlines())


DEB822 = "Types: deb\nURIs: http://mirror.invalid/debian\nSuites: bookworm\nSigned-By: /keys/debian.gpg\n"
ONE_LINE = "# comment\ndeb [arch=amd64 signed-by=/keys/debian.gpg] http://mirror.invalid/debian bookworm main\n"
OTHER = "deb https://packages.invalid/other stable main\n"


@pytest.mark.parametrize(("name", "text"), [("sources.list.d/debian.sources", DEB822), ("sources.list", ONE_LINE)])
def test_the_mirror_is_apt_s_own(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d/another.list").write_text(OTHER)
    (tmp_path / name).write_text(text)
    assert apptainer.mirror(tmp_path) == {"URIs": "http://mirror.invalid/debian", "Signed-By": "/keys/debian.gpg"}
