import pytest

from launcher.execute.adapters import CODES, known, load
from launcher.roles import MODULES
from launcher.roles.base import Adapter
from launcher.text.diagnostic import Place, Refused
from launcher.text.document import Document

MODULE = """
from launcher.roles.base import Adapter

class Mine(Adapter):
    pass

ADAPTER = Mine()
NOTHING = 1
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A package beside ours that announces adapters."""
    (tmp_path / "mine_adapter.py").write_text(MODULE)
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points = "mine = mine_adapter:ADAPTER\nwhole = mine_adapter\nwrong = mine_adapter:NOTHING\n"
    (info / "entry_points.txt").write_text(f"[launcher.roles]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_package_s_own():
    found = load(MODULES)
    assert set(found) == set(MODULES)
    assert all(isinstance(each, Adapter) for each in found.values())


def test_nothing_is_loaded_that_is_not_asked_for():
    assert load([]) == {}
    assert list(load(["plain", "plain"])) == ["plain"]


def test_other_packages_announce_theirs(foreign):
    assert set(known()) == {*MODULES, "mine", "whole", "wrong"}
    assert type(load(["mine"])["mine"]).__name__ == type(load(["whole"])["whole"]).__name__ == "Mine"


def test_all_unknown_ones_are_refused_at_their_places(foreign):
    place = Place(Document("box.toml", "", {}), ("adapter",))
    with pytest.raises(Refused) as refused:
        load(["plan", "wrong", "zzzzzz", "plain"], {"plan": place})
    found = refused.value.diagnostics
    assert [(each.message, each.place) for each in found] == [
        ("no adapter is named `plan`", place),
        ("no adapter is named `wrong`", None),
        ("no adapter is named `zzzzzz`", None),
    ]
    assert found[0].help == "did you mean `plain`?"
    assert found[2].help
    assert "`direct`" in found[2].help
    assert {each.code for each in found} == set(CODES)
