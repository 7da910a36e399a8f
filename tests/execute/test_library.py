"""The library on files: what is found where, and what is refused without hanging."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.execute import reading
from launcher.execute.library import Files, config, data
from launcher.model.link import Request, link
from launcher.text.diagnostic import Refused
from launcher.text.limits import BYTES

RECIPE = 'schema = 1\nname = "mine"\n[roles.worker]\nmanifest = "sim"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Folders of a machine of our own: `shipped`, `etc`, `config/launch`, `cwd`."""
    for folder in ("shipped/manifests/flags/eng", "shipped/images/clusters", "shipped/recipes", "cwd"):
        (tmp_path / folder).mkdir(parents=True)
    for folder in ("etc/manifests", "etc/clusters", "config/launch/manifests", "config/launch/clusters"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def files(home: Path, stdin: Callable[[], bytes] = lambda: b"") -> Files:
    environment = {"XDG_CONFIG_HOME": str(home / "config")}
    return Files(environment, shipped=home / "shipped", site=home / "etc", directory=home / "cwd", read=stdin)


def written(path: Path, text: str | bytes = 'name = "x"\n') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(act: Callable[[], object]) -> tuple[str, str, int]:
    """Code, message and exit code of the one finding that `act` is refused with."""
    with pytest.raises(Refused) as error:
        act()
    (finding,) = error.value.diagnostics
    return finding.code, finding.message, finding.exit


def test_the_shipped_files_are_those_of_the_checkout() -> None:
    shelf = Files({})
    assert {"direct", "plain", "sim", "smg"} & set(shelf.manifests()) >= {"direct", "sim", "smg"}
    assert set(shelf.clusters()) >= {"gb300", "local"}
    assert link(shelf, Request("quickstart")).recipe.name == "quickstart"


def test_shipped_files_are_those_of_the_wheel_where_there_are_any(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "launcher"
    package.mkdir(parents=True)
    assert data(package) == tmp_path / "site-packages"
    (package / "_data").mkdir()
    assert data(package) == package / "_data"


CONFIG = [
    ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, Path("/x/launch")),
    ({"HOME": "/h"}, Path("/h/.config/launch")),
    ({"XDG_CONFIG_HOME": "", "HOME": "/h"}, Path("/h/.config/launch")),
    ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, Path("/h/.config/launch")),
    ({"HOME": ""}, None),
    ({}, None),
]


@pytest.mark.parametrize(("environment", "folder"), CONFIG)
def test_the_users_folder(environment: dict[str, str], folder: Path | None) -> None:
    assert config(environment) == folder


def test_a_recipe_is_a_file_or_a_shipped_name(home: Path) -> None:
    written(home / "shipped/recipes/quick.toml", 'name = "shipped"\n')
    written(home / "cwd/quick.toml", 'name = "file"\n')
    written(home / "cwd/deep/quick.toml", 'name = "deep"\n')
    shelf = files(home)
    names = ["quick", "quick.toml", "./quick.toml", "deep/quick.toml", str(home / "cwd/quick.toml")]
    assert [shelf.recipe(name).data["name"] for name in names] == ["shipped", "file", "file", "deep", "file"]
    assert [shelf.recipe(name).name for name in names[:1]] == [str(home / "shipped/recipes/quick.toml")]
    assert shelf.recipe("deep/quick.toml").name == "deep/quick.toml"


def test_one_file_is_one_document(home: Path) -> None:
    written(home / "cwd/a.toml")
    (home / "cwd/link.toml").symlink_to("a.toml")
    shelf = files(home)
    assert shelf.recipe("a.toml") is shelf.recipe("./a.toml") is shelf.recipe("link.toml")


def test_a_recipe_beside_another(home: Path) -> None:
    written(home / "cwd/deep/top.toml")
    written(home / "cwd/base.toml")
    written(home / "shipped/recipes/quick.toml")
    shelf = files(home)
    top = shelf.recipe("deep/top.toml")
    base = shelf.recipe("../base.toml", top)
    assert (base.name, shelf.recipe("quick", base).name) == ("base.toml", str(home / "shipped/recipes/quick.toml"))
    assert shelf.recipe(str(home / "cwd/base.toml"), top) is base
    assert refusal(lambda: shelf.recipe("base.toml", top)) == ("file-absent", "`deep/base.toml` does not exist", 2)


def test_standard_input_is_read_once_and_stands_in_the_current_directory(home: Path) -> None:
    written(home / "cwd/base.toml", 'schema = 1\nname = "base"\n')
    written(home / "cwd/setup.sh", "echo")
    read = iter([b'name = "piped"\n'])
    shelf = files(home, lambda: next(read))
    piped = shelf.recipe("-")
    assert (piped.name, piped.data, shelf.recipe("-")) == ("<stdin>", {"name": "piped"}, piped)
    assert shelf.recipe("base.toml", piped).name == "base.toml"
    assert shelf.text("setup.sh", piped) == "echo"


def test_standard_input_that_cannot_be_taken(home: Path) -> None:
    assert refusal(lambda: files(home, lambda: b"\xff").recipe("-")) == (
        "not-utf-8",
        "`<stdin>` is not UTF-8 at byte 0",
        3,
    )
    large = files(home, lambda: b" " * (BYTES + 1))
    assert refusal(lambda: large.recipe("-"))[0] == "input-too-large"
    assert refusal(lambda: files(home).recipe("-", files(home, lambda: b"").recipe("-")))[0] == "file-absent"


def test_recipes_that_are_not_there(home: Path) -> None:
    written(home / "shipped/recipes/quickstart.toml")
    shelf = files(home)
    assert refusal(lambda: shelf.recipe("nope.toml")) == ("file-absent", "`nope.toml` does not exist", 2)
    assert refusal(lambda: shelf.recipe("no/nope.toml")) == ("file-absent", "`no/nope.toml` does not exist", 2)
    assert refusal(lambda: shelf.recipe("quickstrt")) == ("file-absent", "no shipped recipe is named `quickstrt`", 2)
    with pytest.raises(Refused) as error:
        shelf.recipe("quickstrt")
    assert error.value.diagnostics[0].help == "did you mean `quickstart`?"
    for folder in (".", "..", "../shipped"):
        told = f"`{folder}` cannot be read: it is a directory"
        assert refusal(lambda: shelf.recipe(folder)) == ("file-unreadable", told, 2)  # noqa: B023
    for name in ("./quickstart", "quickstart.toml", "some/quickstart"):
        with pytest.raises(Refused) as error:
            shelf.recipe(name)
        assert error.value.diagnostics[0].help == "`quickstart` alone is the shipped recipe"
    assert refusal(lambda: shelf.recipe("a\0.toml"))[::2] == ("file-unreadable", 2)


def test_a_file_of_nearly_the_name_is_proposed(home: Path) -> None:
    written(home / "cwd/deep/recipe.toml")
    with pytest.raises(Refused) as error:
        files(home).recipe("deep/recpie.toml")
    assert error.value.diagnostics[0].help == "did you mean `deep/recipe.toml`?"


def test_role_manifests_are_found_in_order(home: Path) -> None:
    folders = ["shipped", "etc", "config/launch", "cwd/base", "cwd"]
    shelf = files(home)
    written(home / "cwd/top.toml")
    written(home / "cwd/base/base.toml")
    found = []
    for folder in folders:
        written(home / folder / "manifests/eng.toml", f'name = "{folder}"\n')
        shelf = files(home)
        shelf.recipe("base/base.toml", shelf.recipe("top.toml"))
        document = shelf.manifest("eng")
        found.append(document.data["name"] if document else None)
    assert found == folders
    assert shelf.manifests() == ["eng"]
    assert [shelf.manifest(name) for name in ("other", "../manifests/eng", "", "a/b")] == [None] * 4


def test_role_manifests_beside_another_recipe_are_not_found(home: Path) -> None:
    written(home / "cwd/a/r.toml")
    written(home / "cwd/b/r.toml")
    written(home / "cwd/a/manifests/eng.toml")
    shelf = files(home)
    shelf.recipe("a/r.toml")
    assert shelf.manifests() == ["eng"]
    shelf.recipe("b/r.toml")
    assert shelf.manifests() == []


def test_clusters_are_overlaid_by_name(home: Path) -> None:
    folders = ("shipped/images/clusters", "etc/clusters", "config/launch/clusters")
    paths = [home / folder / "site.toml" for folder in folders]
    for path in paths:
        written(path, 'name = "site"\n')
    own = written(home / "cwd/own.toml", 'name = "site"\n')
    written(home / "cwd/alone.toml", "")
    shelf = files(home)
    shown = [str(path) for path in paths]
    assert shelf.config_path("site") == shown
    assert shelf.config_path("./own.toml") == [*shown, "./own.toml"]
    assert shelf.config_path(str(own)) == [*shown, "./own.toml"]
    assert shelf.config_path("alone.toml") == ["alone.toml"]
    assert shelf.config_path(shown[1]) == [shown[0], shown[2], shown[1]]
    assert shelf.config_path("none") == []
    assert shelf.clusters() == ["site"]


def test_catalogues_are_found_by_program_and_version(home: Path) -> None:
    text = '{"schema": 1, "program": "eng", "version": "%s", "flags": {}, "exclusive": [], '
    text += '"prefixes": false, "source": ""}'
    folder = home / "shipped/manifests/flags/eng"
    for version in ("1.10.0", "1.9.0", "1.10.0rc1", "2.0"):
        written(folder / f"{version}.json", text % version)
    written(folder / "3.0.json", "[]")
    written(home / "config/launch/manifests/flags/eng/0.1.json", text % "0.1")
    shelf = files(home)
    assert shelf.versions("eng") == ["0.1", "1.9.0", "1.10.0rc1", "1.10.0", "2.0", "3.0"]
    found = [shelf.catalogue("eng", version) for version in ("1.9.0", "0.1", "9")]
    assert [one and one.version for one in found] == ["1.9.0", "0.1", None]
    assert (shelf.catalogue("../eng", "1.9.0"), shelf.catalogue("eng", "../1.9.0"), shelf.versions("..")) == (
        None,
        None,
        [],
    )
    assert refusal(lambda: shelf.catalogue("eng", "3.0"))[::2] == ("catalogue-broken", 3)


def test_texts_are_relative_to_the_document_and_exact(home: Path) -> None:
    written(home / "cwd/deep/r.toml")
    written(home / "cwd/deep/setup.sh", "a\r\n\ufeffé\n")
    shelf = files(home)
    recipe = shelf.recipe("deep/r.toml")
    assert shelf.text("setup.sh", recipe) == "a\r\n\ufeffé\n"
    with pytest.raises(FileNotFoundError):
        shelf.text("nope.sh", recipe)
    with pytest.raises(UnicodeDecodeError):
        written(home / "cwd/deep/latin.sh", b"\xe9")
        shelf.text("latin.sh", recipe)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


UNREADABLE: list[tuple[str, Callable[[Path], object], str, int]] = [
    ("directory", Path.mkdir, "it is a directory", 2),
    ("pipe", pipe, "it is a pipe", 2),
    ("socket", listening, "it is a socket", 2),
    ("device", lambda path: path.symlink_to("/dev/zero"), "it is a device", 2),
    ("circle", lambda path: path.symlink_to(path), "too many levels of symbolic links", 2),
    ("large", lambda path: os.truncate(written(path), BYTES + 1), f"it has more than {BYTES} bytes", 3),
]


@pytest.mark.parametrize(
    ("make", "reason", "code"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)
def test_what_is_no_file_is_refused_without_hanging(
    home: Path, make: Callable[[Path], object], reason: str, code: int
) -> None:
    make(home / "cwd/r.toml")
    shelf = files(home)
    assert refusal(lambda: shelf.recipe("r.toml"))[1:] == (f"`r.toml` cannot be read: {reason}", code)
    with pytest.raises(OSError, match=reason[6:]):
        reading.text(home / "cwd/r.toml")


def test_a_file_of_the_largest_size_is_read(home: Path) -> None:
    written(home / "cwd/r.toml", "#" * BYTES)
    assert files(home).recipe("r.toml").data == {}


def test_a_file_under_a_file_does_not_exist(home: Path) -> None:
    written(home / "cwd/r.toml")
    assert refusal(lambda: files(home).recipe("r.toml/x.toml"))[0] in ("file-absent", "file-unreadable")


def test_unreadable_role_manifests_and_clusters_are_told_of(home: Path) -> None:
    (home / "etc/manifests/eng.toml").mkdir()
    (home / "etc/clusters/site.toml").mkdir()
    shelf = files(home)
    assert refusal(lambda: shelf.manifest("eng"))[0] == "file-unreadable"
    assert refusal(lambda: shelf.cluster("site"))[0] == "file-unreadable"


def test_a_circle_of_recipes_is_found_through_files(home: Path) -> None:
    written(home / "cwd/a/r.toml", 'schema = 1\nname = "x"\nextends = "../b.toml"\n')
    written(home / "cwd/b.toml", 'schema = 1\nextends = "a/../a/r.toml"\n')
    written(home / "shipped/images/clusters/local.toml", 'schema = 1\nname = "local"\n')
    written(home / "shipped/manifests/direct.toml", 'schema = 1\nname = "direct"\nabout = "d"\nkind = "router"\n')
    code, message, _ = refusal(lambda: link(files(home), Request("a/r.toml")))
    assert (code, message.count("extends")) == ("extends-cycle", 2)
