"""What is said of files that people name and that cannot be read."""

from pathlib import Path

import pytest

from launcher.execute.reading import document_text
from launcher.text.diagnostic import Refused

THERE = {
    "deep/other.toml": "its folder has `aaa.toml`, `bbb.toml`, `ccc.toml`, `ddd.toml`, `eee.toml`, `fff.toml` …",
    "empty/other": "its folder has no `.toml` file",
    "none/other.toml": "there is no folder `none`",
    "quikstart.toml": "`quickstart` alone is the shipped recipe",
    "deep/aab.toml": "did you mean `deep/aaa.toml`?",
}


@pytest.mark.parametrize(("name", "told"), THERE.items())
def test_what_there_is_instead_is_listed(tmp_path: Path, name: str, told: str) -> None:
    for folder in ("deep", "empty"):
        (tmp_path / folder).mkdir()
    for letter in "abcdefgh":
        (tmp_path / f"deep/{letter * 3}.toml").touch()
    with pytest.raises(Refused) as error:
        document_text(tmp_path / name, name, lambda: ["quickstart"])
    assert [(each.code, each.help) for each in error.value.diagnostics] == [("file-absent", told)]
