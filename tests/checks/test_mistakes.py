"""Mistakes by their kind: not one spelling of each, but any; and what looks like one and is none."""

import string
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from launcher.checks import check, mounts
from launcher.model.catalogue import load
from launcher.model.recipe import Mount
from launcher.plan.place import place
from launcher.render import pyxis
from launcher.text.diagnostic import Severity, errors
from tests import jobs

SMG = load((jobs.ROOT / "manifests" / "flags" / "smg" / "1.13.0.json").read_text(encoding="utf-8"))
KEYS = sorted(spelling.lstrip("-") for flag in SMG.flags.values() for spelling in flag.spellings)
FREE = sorted(set(KEYS) - set(jobs.shipped("smg").owned))
SITE = jobs.cluster(runtime="pyxis", scheduler="slurm", node={"gpus": 8}, versions={"pyxis": "0.24.0"})


def codes(**made: Any) -> set[str]:
    """Codes of the errors of a job of one worker, or of the `roles` made."""
    on = made.pop("on", None)
    roles = made.pop("roles", None) or [jobs.role("worker", **made)]
    return {finding.code for finding in errors(check(jobs.job(*roles, on=on), jobs.adapters()))}


def routed(flags: Mapping[str, Any]) -> set[str]:
    return codes(
        roles=[jobs.role("worker", replicas=2), jobs.router("smg", flags=flags, catalogue=SMG, version="1.13.0")]
    )


def slips(word: str, letters: str = string.ascii_lowercase + "-_") -> Iterable[str]:
    """Every word that one slip of the finger makes of `word`."""
    for at in range(len(word) + 1):
        yield from (word[:at] + letter + word[at:] for letter in letters)
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
        yield from (word[:at] + letter + word[at + 1 :] for letter in letters)
        yield word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]


@given(st.sampled_from(FREE).flatmap(lambda key: st.sampled_from(list(slips(key)))))
def test_a_misspelt_flag_is_unknown(key: str) -> None:
    assume(SMG.find(key) is None)
    assert "unknown-flag" in routed({key: True}) or key.replace("_", "-") in jobs.shipped("smg").owned


@given(st.sampled_from(FREE))
def test_a_flag_the_program_has_is_known(key: str) -> None:
    assert "unknown-flag" not in routed({key: True})


@pytest.mark.parametrize("name", sorted(jobs.shipped("smg").owned))
def test_owned_flags_are_owned_however_they_are_spelt(name: str) -> None:
    for key in (name, name.replace("-", "_"), f"--{name}"):
        assert "owned-flag" in routed({key: "x"})


@given(st.text(max_size=8) | st.from_regex(r"[A-Za-z_0-9=. -]{1,8}", fullmatch=True))
def test_a_variable_is_an_identifier(name: str) -> None:
    assume(not name.startswith("LAUNCH_"))
    fine = name.isascii() and name.isidentifier()
    assert ("environment-name" in codes(env={name: "1"})) is not fine
    assert ("environment-name" in codes(env_from=(name,))) is not fine


@pytest.mark.parametrize("value", ['{"a": 1}', "", "a,b", "a=b", "line\nline", '"', "$HOME", "ü", "x" * 100_000])
def test_a_value_of_a_variable_may_be_anything(value: str) -> None:
    assert codes(env={"CONFIG": value}) == set()


PATH = st.text(alphabet=string.ascii_letters + "_-.+'=@%#~()[]{};&*?!<>| é", min_size=1, max_size=8)


@given(PATH, PATH)
def test_paths_with_harmless_characters_are_mounted(source: str, target: str) -> None:
    assume(target.strip("./") not in ("", "dev", "proc", "sys", "launch"))
    mount = Mount(source=f"/{source}", target=f"/data/{target}")
    assert codes(on=SITE, gpus=8, mounts=(mount,)) == set()


@given(PATH, st.sampled_from(',:"$`\\\n'), PATH, st.booleans())
def test_paths_that_break_pyxis_are_refused(before: str, letter: str, after: str, at_source: bool) -> None:
    broken, fine = f"/{before}{letter}{after}", "/data/fine"
    mount = Mount(source=broken, target=fine) if at_source else Mount(source=fine, target=broken)
    assert codes(on=SITE, gpus=8, mounts=(mount,)) >= {"mount-path"}


@pytest.mark.parametrize("path", ["~", "~/a", "~you/a", "$HOME", "${HOME}/a", "a", "./a", "../a", "a/b", " /a"])
def test_paths_that_are_not_absolute_are_refused(path: str) -> None:
    assert "mount-path" in codes(on=SITE, gpus=8, mounts=(Mount(source=path, target="/a"),))
    assert "mount-path" in codes(on=SITE, gpus=8, mounts=(Mount(source="/a", target=path),))


@pytest.mark.parametrize("target", ["/data", "/data/", "//data", "/./data", "/x/../data", "/data/."])
def test_one_target_is_one_however_it_is_spelt(target: str) -> None:
    both = (Mount(source="/a", target="/data"), Mount(source="/b", target=target))
    assert codes(on=SITE, gpus=8, mounts=both) == {"mount-target-twice"}


def test_one_source_may_be_at_many_targets() -> None:
    both = tuple(Mount(source="/a", target=f"/data{number}") for number in range(3))
    assert codes(on=SITE, gpus=8, mounts=both) == set()


def test_the_run_directory_is_where_the_renderer_puts_it() -> None:
    assert mounts.RUN == pyxis.RUN


@given(st.integers(0, 40), st.integers(0, 8))
def test_a_replica_has_a_part_of_a_node_or_whole_nodes(gpus: int, node: int) -> None:
    found = codes(gpus=gpus, on=jobs.cluster(node={"gpus": node}))
    fits = gpus <= node or (node > 0 and gpus % node == 0)
    assert found == (set() if fits else {"gpus-not-whole-nodes" if node else "node-has-no-gpus"})


@given(st.integers(1, 16), st.integers(1, 6), st.integers(1, 4))
def test_replicas_fit_the_nodes_there_are_or_are_refused(gpus: int, replicas: int, nodes: int) -> None:
    assume(gpus <= 8 or gpus == 16)
    roles = [jobs.role("worker", gpus=gpus, replicas=replicas), jobs.router()]
    found = codes(roles=roles, on=jobs.cluster(node={"gpus": 8}, nodes=nodes))
    wanted = place(roles, 8).nodes
    assert found == ({"too-few-nodes"} if wanted > nodes else set())


MODES = [
    ((), {"worker-missing"}),
    (("worker",), set()),
    (("prefill",), {"half-missing"}),
    (("decode",), {"half-missing"}),
    (("prefill", "decode"), set()),
    (("worker", "prefill"), {"modes-mixed", "half-missing"}),
    (("worker", "decode"), {"modes-mixed", "half-missing"}),
    (("worker", "prefill", "decode"), {"modes-mixed"}),
]


@pytest.mark.parametrize(("names", "expected"), MODES, ids=lambda item: "-".join(sorted(item)) or "none")
def test_roles_are_one_layout(names: tuple[str, ...], expected: set[str]) -> None:
    roles = [jobs.role(name, flags={"personality": "sglang"}) for name in names]
    assert codes(roles=[*roles, jobs.router()]) == expected


def test_suggestions_stop_and_findings_do_not() -> None:
    flags = {f"polic{number}y": True for number in range(200)}
    router = jobs.router("smg", flags=flags, catalogue=SMG, version="1.13.0")
    found = [
        each for each in check(jobs.job(jobs.role("worker"), router), jobs.adapters()) if each.code == "unknown-flag"
    ]
    assert len(found) == 200
    assert 0 < sum("did you mean" in (each.help or "") for each in found) <= 20


def test_allow_makes_warnings_that_say_so() -> None:
    worker = jobs.role("worker", env={"LAUNCH_X": "1", "A-B": "1"})
    found = check(jobs.job(worker, allow=["owned-variable", "environment-name"]), jobs.adapters())
    told = {each.code: (each.severity, each.notes) for each in found}
    assert told["owned-variable"][0] is Severity.WARNING
    assert told["owned-variable"][1] == ("it would refuse, but the recipe lists `owned-variable` in `allow`",)
    assert told["environment-name"] == (Severity.ERROR, ())
    assert told["unknown-allowed"][0] is Severity.WARNING


def test_a_finding_in_the_defaults_is_told_once() -> None:
    roles = [jobs.role(name, flags={"personality": "sglang"}, env={"A-B": "1"}) for name in ("prefill", "decode")]
    found = errors(check(jobs.job(*roles, jobs.router()), jobs.adapters()))
    assert [each.code for each in found] == ["environment-name"]
