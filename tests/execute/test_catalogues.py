"""Catalogues on files: which of several folders counts, what is known beside them, and what is broken."""

import shutil
from pathlib import Path

import pytest

from launcher.execute.library import Files
from launcher.text.diagnostic import Refused

SHIPPED = Path(__file__).parents[2]


def files(folder: Path) -> Files:
    return Files({"XDG_CONFIG_HOME": str(folder)}, site=folder / "site")


def test_programs_are_those_that_have_a_folder(tmp_path: Path) -> None:
    (tmp_path / "launch" / "manifests" / "flags" / "own").mkdir(parents=True)
    programs = files(tmp_path).catalogues.programs()
    assert {"own", "sglang", "vllm"} <= {*programs}
    assert list(programs) == sorted(programs)


def test_kin_are_other_versions_and_the_newest_of_other_programs(tmp_path: Path) -> None:
    kin = files(tmp_path).kin("vllm", "0.20.2")
    versions = [one.version for one in kin.versions]
    assert versions[0] == "0.11.2"
    assert "0.20.2" not in versions
    assert versions[-1] == "0.33.0"
    others = {one.program: one.version for one in kin.others}
    assert others["sglang"] == "0.5.23"
    assert "vllm" not in others
    assert kin.names.title("sglang") == "SGLang"
    assert kin.names.title("other") == "other"


def test_names_of_the_user_take_the_place_of_the_shipped(tmp_path: Path) -> None:
    folder = tmp_path / "launch" / "manifests" / "flags"
    folder.mkdir(parents=True)
    (folder / "names.toml").write_text('schema = 1\n[titles]\nvllm = "VLLM"\n', encoding="utf-8")
    names = files(tmp_path).names()
    assert names.title("vllm") == "VLLM"
    assert list(names.same) == []


def test_names_with_a_table_that_nothing_reads_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "launch" / "manifests" / "flags"
    folder.mkdir(parents=True)
    (folder / "names.toml").write_text("schema = 1\n[tiles]\n", encoding="utf-8")
    with pytest.raises(Refused) as caught:
        files(tmp_path).names()
    assert "has a table that nothing reads: tiles" in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "3", '{"apis": 3}', '{"gates": [3]}', '{"configuration": 3}', '{"configuration": {"kind": 3}}'),
        *('{"plugins": [3]}', '{"plugins": {"a": 3}}', '{"plugins": {"a": {"parameters": {"b": []}}}}'),
    ],
)
def test_plugins_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    flags = tmp_path / "launch" / "manifests" / "flags" / "epp"
    (flags / "plugins").mkdir(parents=True)
    shutil.copy(SHIPPED / "manifests" / "flags" / "epp" / "0.10.0.json", flags)
    (flags / "plugins" / "0.10.0.json").write_text(text, encoding="utf-8")
    with pytest.raises(Refused) as caught:
        files(tmp_path).catalogues.catalogue("epp", "0.10.0")
    [said] = caught.value.diagnostics
    assert (said.code, said.help) == ("catalogue-broken", "begin anew with a copy of the shipped one")


def test_a_grammar_is_found_and_a_strange_name_is_none(tmp_path: Path) -> None:
    found = files(tmp_path).catalogues.grammar("vllm")
    assert found is not None
    assert found.data["name"] == "vllm"
    assert files(tmp_path).catalogues.grammar("../vllm") is None
    assert files(tmp_path).catalogues.grammar("nobody") is None


@pytest.mark.parametrize(
    "path", sorted((SHIPPED / "manifests" / "flags").glob("*/grammar.toml")), ids=lambda p: p.parent.name
)
def test_every_program_with_catalogues_says_how_it_reads(path: Path) -> None:
    assert list(path.parent.glob("*.json")), "a grammar is shipped with at least one catalogue"


def test_reviewed_names_are_flags_that_there_are_or_were() -> None:
    library = Files({}, site=SHIPPED / "nowhere")
    names = library.names()
    everything = {
        program: [found for version in library.versions(program) if (found := library.catalogue(program, version))]
        for program in library.catalogues.programs()
    }
    for group in names.same:
        for program, key in group.items():
            assert any(one.exactly(key) for one in everything[program]), f"{program} never had `{key}`"
    for program, moved in names.moved.items():
        newest = everything[program][-1]
        assert [key for key in moved if newest.exactly(key)] == []
