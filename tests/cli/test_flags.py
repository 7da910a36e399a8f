"""`launch flags`: what programs take, what changed, and how a new version is learnt by one command."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from launcher.cli import main
from launcher.model.catalogue import load
from launcher.model.manifest import Manifest

FLAGS = Path(__file__).parents[2] / "manifests" / "flags"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["flags", *words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_flags_are_listed_by_a_part_of_their_names(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    status, out, err = run(capsys, "show", "vllm@0.33.0", "max_num_b")
    assert (status, err) == (0, "vllm 0.33.0: 1 of 320 flags\n")
    assert out == "max-num-batched-tokens\n  takes    a whole number or `16k`\n"
    status, out, err = run(capsys, "show", "vllm@0.33.0", "*-parallel-size")
    assert (status, err) == (0, "vllm 0.33.0: 3 of 320 flags\n") or "of 320 flags" in err
    assert "tensor-parallel-size" in out
    assert " tp " in out
    assert " 1" in out


def test_all_flags_of_the_newest_version(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    status, out, err = run(capsys, "show", "sglang")
    assert status == 0
    assert len(out.splitlines()) == 532
    assert err == "sglang 0.5.23: 531 of 531 flags\n"


def test_one_flag_is_told_whole(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    out = run(capsys, "show", "vllm@0.33.0", "kv-transfer-config")[1]
    assert "takes    a table (KVTransferConfig)" in out
    assert "kv_role" in out
    assert "kv_producer, kv_both, kv_consumer" in out
    assert "NixlConnector" in out
    out = run(capsys, "show", "sglang@0.5.16", "nsa-decode-backend")[1]
    assert "state    deprecated, use dsa-decode-backend" in out
    out = run(capsys, "show", "vllm@0.33.0", "enable-prefix-caching")[1]
    assert "off      disable-prefix-caching no-enable-prefix-caching" in out


WRONG = [
    (("show", "vlm"), "there is no flag catalogue of `vlm`", "did you mean `vllm`?"),
    (("show", "vllm@0.1"), "there is no flag catalogue of vllm 0.1", "`launch flags harvest vllm 0.1` makes it"),
    (("show", "vllm", "polcy"), "has no flag like `polcy`", "`launch flags show vllm` lists all"),
    (("show", "vllm", "a", "b"), "`b` is one word too many", ""),
    (("diff", "vllm", "0.33.0"), "`launch flags diff` compares two versions", ""),
    (("diff", "vllm", "0.33.0", "0.1"), "there is no flag catalogue of vllm 0.1", ""),
    (("show", "vllm", "--into", "x"), "`--into` is an option of `launch flags harvest`", ""),
    (("show", "vllm", "--again"), "`--again` is an option of `launch flags harvest`", ""),
    (("harvest", "nobody"), "nobody says how `nobody` reads its command line", ""),
    (("harvest", "envoy"), "envoy is not on PyPI", "--help-text -"),
    (("harvest", "envoy", "--help-text", "x"), "a help text does not say its version", ""),
    (("harvest", "trtllm-serve"), "trtllm-serve is not on PyPI", "`trtllm-serve serve --help | launch"),
    (("harvest", "smg", "../1"), "`../1` is no version", "letters, digits"),
    (("harvest", "smg", "--python", " "), "`--python` names no program", "a path"),
    (("harvest", "smg", "--python", "'"), "`--python`: no closing quotation", "quote it"),
    (("harvest", "envoy", "1", "--help-text", "absent"), "`absent` cannot be read: no such file or directory", ""),
]


@pytest.mark.parametrize(("words", "message", "help_"), WRONG, ids=lambda item: " ".join(item)[:40])
def test_what_is_wrong_says_what_to_do(
    words: tuple[str, ...], message: str, help_: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert message in err
    assert help_ in err


@pytest.mark.parametrize(
    ("name", "state"), [("absent.whl", "does not exist"), ("x.whl", "is no wheel"), ("smg-1-py3-none-any.whl", "is no")]
)
def test_what_is_no_wheel_is_refused(name: str, state: str, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    if state != "does not exist":
        (home / name).write_text("x", encoding="utf-8")
    status, out, err = run(capsys, "harvest", "smg", "--wheel", name)
    assert (status, out) == (1, "")
    assert f"error[harvest-failed]: `{name}` {state}" in err


def test_two_versions_are_compared(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    status, out, err = run(capsys, "diff", "sglang", "0.5.16", "0.5.23")
    assert status == 0
    assert "removed  nsa-decode-backend" in out
    assert "use `dsa-decode-backend`" in out
    assert err == "sglang 0.5.16 → 0.5.23: 99 added, 28 removed, 41 changed\n"
    assert run(capsys, "diff", "smg", "1.13.0", "1.13.0") == (0, "", "smg 1.13.0 → 1.13.0: the same flags\n")


def test_programs_read_what_is_told(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    status, out, err = run(capsys, "show", "sglang@0.5.16", "nsa-decode-backend", "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert (told["schema"], told["program"], told["version"]) == (1, "sglang", "0.5.16")
    flag = told["flags"].pop("nsa-decode-backend")
    assert (flag["spellings"], flag["deprecated"], flag["instead"]) == (
        ["--nsa-decode-backend"],
        True,
        "dsa-decode-backend",
    )
    assert (flag["kind"], flag["closed"], told["flags"]) == ("str", True, {})
    assert len(json.loads(run(capsys, "show", "sglang", "--json")[1])["flags"]) == 531
    told = json.loads(run(capsys, "diff", "sglang", "0.5.16", "0.5.23", "--json")[1])
    assert (told["before"], told["version"], len(told["changes"])) == ("0.5.16", "0.5.23", 99 + 28 + 41)
    gone = {"kind": "removed", "flag": "nsa-decode-backend", "what": "use `dsa-decode-backend`"}
    assert gone in told["changes"]


def test_a_new_version_is_learnt_from_an_environment(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    status, out, err = run(capsys, "harvest", "smg", "--python", f"env -u NOTHING {sys.executable}")
    path = home / "launch" / "manifests" / "flags" / "smg" / "1.13.0.json"
    assert (status, out) == (0, f"{path}\n")
    assert path.read_bytes() == (FLAGS / "smg" / "1.13.0.json").read_bytes()
    assert err == "smg 1.13.0 → 1.13.0: the same flags\n"


def test_a_new_version_is_learnt_from_help(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "help.txt").write_text(
        "   --concurrency <uint32_t>\n     Threads\n\n   --new <string>\n     New\n", encoding="utf-8"
    )
    words = ("harvest", "envoy", "1.41.0", "--help-text", "help.txt", "--into", "out")
    status, out, err = run(capsys, *words)
    assert (status, out) == (1, "")
    assert "of 41 flags of envoy 1.40.0 1 are left: this looks like another program; `--unlike` takes" in err
    assert not (home / "out").exists()
    status, out, err = run(capsys, *words, "--unlike")
    assert (status, out) == (0, "out/envoy/1.41.0.json\n")
    made = load((home / "out" / "envoy" / "1.41.0.json").read_text(encoding="utf-8"))
    assert list(made.flags) == ["--concurrency", "--new"]
    assert "added    new" in err
    assert "1 added, 40 removed" in err


def test_slurm_tells_its_options_itself(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    srun = home / "srun"
    cases = "--version) echo slurm 99.1.2;; --help) echo '  -N, --nodes=N   nodes';;"
    srun.write_text(f"#!/bin/sh\ncase $1 in {cases} *) echo \"srun: option '$1' requires an argument\";; esac\n")
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", str(home), prepend=":")
    assert run(capsys, "harvest", "srun", "--into", "out", "--unlike")[:2] == (0, "out/srun/99.1.2.json\n")
    made = load((home / "out" / "srun" / "99.1.2.json").read_text(encoding="utf-8"))
    assert [(flag.name, flag.spellings) for flag in made.flags.values()] == [("--nodes", ("--nodes", "-N"))]
    monkeypatch.setenv("PATH", "/nowhere")
    status, out, err = run(capsys, "harvest", "srun", "--into", "out")
    assert (status, out) == (1, "")
    assert "error[harvest-failed]" in err


def test_a_help_text_without_flags_is_refused(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "help.txt").write_text("usage: none\n", encoding="utf-8")
    status, out, err = run(capsys, "harvest", "epp", "1", "--help-text", "help.txt")
    assert (status, out) == (1, "")
    assert "error[harvest-failed]: no flag is found in the help text of epp, read as go" in err


def test_a_program_that_does_not_say_its_version(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    status, out, err = run(capsys, "harvest", "sim", "--python", sys.executable)
    assert (status, out) == (1, "")
    assert "sim does not say its version: name it after the program" in err


def test_a_grammar_that_is_wrong_is_refused(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    folder = home / "launch" / "manifests" / "flags" / "own"
    folder.mkdir(parents=True)
    (folder / "grammar.toml").write_text('schema = 1\nname = "own"\nmodul = ["own"]\n', encoding="utf-8")
    status, _, err = run(capsys, "harvest", "own")
    assert status == 1
    assert "grammar.toml`: `modul`: " in err


def test_a_program_of_ones_own_is_learnt_and_what_is_unread_is_said(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "launch" / "manifests" / "flags" / "own"
    folder.mkdir(parents=True)
    (folder / "grammar.toml").write_text('schema = 1\nname = "own"\nmodule = ["own"]\n', encoding="utf-8")
    text = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--odd', type=lambda t: t)\np.parse_args()\n"
    (home / "own.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(home))
    status, out, err = run(capsys, "harvest", "own", "7", "--python", sys.executable)
    assert (status, out) == (0, f"{folder / '7.json'}\n")
    assert err.startswith("nobody knows what these take, so they take anything: --odd;")
    assert run(capsys, "show", "own")[0] == 0


def test_what_versions_do_otherwise_is_told_with_the_flags_that_changed(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    """The facts stand in the role manifests."""
    out = run(capsys, "diff", "smg", "1.11.0", "1.13.0")[1]
    told = out.partition("since   flag")[2]
    assert "disable-worker-overload-protection  holds requests back from a worker with 8 waiting" in told
    behaviour = json.loads(run(capsys, "diff", "smg", "1.13.0", "1.11.0", "--json")[1])["behaviour"]
    assert {each["since"] for each in behaviour} == {"1.13.0"}
    assert all(each["source"] for each in behaviour)
    assert json.loads(run(capsys, "diff", "sglang", "0.5.5", "0.5.9", "--json")[1])["behaviour"] == []


@pytest.mark.parametrize("path", sorted(FLAGS.parent.glob("*.toml")), ids=lambda path: path.stem)
def test_differences_are_of_versions_and_flags_there_are(path: Path) -> None:
    manifest = Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    for each in manifest.differences:
        catalogue = load((FLAGS / str(manifest.program.name) / f"{each.since}.json").read_text(encoding="utf-8"))
        assert each.flags and all(catalogue.exactly(flag) for flag in each.flags)
