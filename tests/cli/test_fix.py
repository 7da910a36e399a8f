"""`launch check --fix`: keys get their right names, and nothing else of a file changes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.cli import main
from launcher.cli.fix import fix, renamed
from launcher.text.diagnostic import Diagnostic, Place
from launcher.text.parse import parse

ENGINE = """schema = 1
name = "engine"
about = "an engine"
kind = "engine"
[program]
name = "sglang"
version = "0.5.16"
command = ["sglang"]
[ports.http]
base = 6100
"""
RECIPE = """schema = 1
name = "r"   # a name

[roles.worker]
manifest = "engine"

[roles.worker.flags] # flags
# the backend
nsa-decode-backend = "trtllm"     # kept
"reasoning_parser"   = 'deepseek-r1'
tp = 8
"""
FIXED = """schema = 1
name = "r"   # a name

[roles.worker]
manifest = "engine"

[roles.worker.flags] # flags
# the backend
dsa-decode-backend = "trtllm"     # kept
reasoning-parser   = 'deepseek-r1'
tp-size = 8
"""


SHIPPED = Path(__file__).parents[2] / "manifests" / "smg.toml"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "engine.toml").write_text(ENGINE, encoding="utf-8")
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["check", *words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_names_are_put_right_and_comments_stay(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    recipe = home / "r.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    recipe.chmod(0o640)
    status, out, err = check(capsys, "./r.toml", "--fix")
    assert (status, out) == (0, "")
    assert recipe.read_text(encoding="utf-8") == FIXED
    assert recipe.stat().st_mode & 0o777 == 0o640
    renames = "`nsa-decode-backend` → `dsa-decode-backend`, `reasoning_parser` → `reasoning-parser`, `tp` → `tp-size`"
    assert err == f"renamed in ./r.toml: {renames}\n`./r.toml`: no mistakes found\n"
    assert sorted(path.name for path in home.iterdir()) == ["manifests", "r.toml"]


def test_without_the_option_nothing_is_written(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "r.toml").write_text(RECIPE, encoding="utf-8")
    assert check(capsys, "./r.toml")[0] == 3
    assert (home / "r.toml").read_text(encoding="utf-8") == RECIPE


UNFIXED = [
    "mem-fraction-statc = 0.8",
    "gpu-memory-utilization = 0.9",
    "disable-piecewise-cuda-graph = true",
    "elastic-ep-rejoin = true",
]


@pytest.mark.parametrize("line", UNFIXED)
def test_what_is_doubtful_is_left(line: str, capsys: pytest.CaptureFixture[str], home: Path) -> None:
    text = f"{RECIPE.partition('# the')[0]}{line}\n"
    (home / "r.toml").write_text(text, encoding="utf-8")
    check(capsys, "./r.toml", "--fix")
    assert (home / "r.toml").read_text(encoding="utf-8") == text


def test_what_another_version_says_is_left(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    text = RECIPE.replace('manifest = "engine"', 'manifest = "engine"\nversion = "0.5.17"')
    (home / "r.toml").write_text(text, encoding="utf-8")
    check(capsys, "./r.toml", "--fix")
    left = (home / "r.toml").read_text(encoding="utf-8")
    assert "nsa-decode-backend" in left
    assert "reasoning_parser" in left


def test_a_word_of_the_command_line_is_no_file(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "r.toml").write_text(FIXED, encoding="utf-8")
    status, out, _ = check(capsys, "./r.toml", "--fix", "--set", "roles.worker.flags.tool_call_parser=x")
    assert status == 3
    assert "did you mean `tool-call-parser`?" in out


def finding(text: str, path: tuple[str, ...], name: str, file: str = "f.toml") -> Diagnostic:
    return Diagnostic("c", "m", Place(parse(file, text), path, "key"), rename=name)


def test_two_keys_do_not_become_one(home: Path) -> None:
    text = "a_b = 1\na-b = 2\n"
    (home / "f.toml").write_text(text, encoding="utf-8")
    text += "c_d = 3\n"
    (home / "f.toml").write_text(text, encoding="utf-8")
    assert fix([finding(text, ("a_b",), "a-b"), finding(text, ("c_d",), "c-d")]) == [
        ("`a_b` in `f.toml` is left as it is: there is a `a-b` beside it", False),
        ("renamed in f.toml: `c_d` → `c-d`", True),
    ]
    assert (home / "f.toml").read_text(encoding="utf-8") == "a_b = 1\na-b = 2\nc-d = 3\n"


def test_a_file_that_changed_meanwhile_is_left(home: Path) -> None:
    (home / "f.toml").write_text("a_b = 2\n", encoding="utf-8")
    (told,) = fix([finding("a_b = 1\n", ("a_b",), "a-b")])
    assert told == ("`f.toml` is left as it is: it has changed meanwhile", False)


def test_a_file_that_may_only_be_read_is_left(home: Path) -> None:
    (home / "f.toml").write_text("a_b = 1\n", encoding="utf-8")
    (home / "f.toml").chmod(0o444)
    (told,) = fix([finding("a_b = 1\n", ("a_b",), "a-b")])
    assert told == ("`f.toml` is left as it is: it may only be read", False)
    (told,) = fix([finding("a_b = 1\n", ("a_b",), "a-b", str(SHIPPED))])
    assert told == (f"`{SHIPPED}` is left as it is: it is the launcher's own", False)


def test_a_link_stays_one_and_line_ends_stay(home: Path) -> None:
    (home / "real.toml").write_bytes(b"a_b = 1\r\nc = 2\r\n")
    (home / "f.toml").symlink_to("real.toml")
    assert fix([finding("a_b = 1\r\nc = 2\r\n", ("a_b",), "a-b")])[0].written
    assert (home / "f.toml").is_symlink()
    assert (home / "real.toml").read_bytes() == b"a-b = 1\r\nc = 2\r\n"


def test_several_recipes_are_put_right_at_once(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "r.toml").write_text(RECIPE, encoding="utf-8")
    (home / "s.toml").write_text(RECIPE, encoding="utf-8")
    (home / "latin.toml").write_bytes(b"name = '\xe4'\n")
    status, out, err = check(capsys, "--fix", "./latin.toml", "./r.toml", "./s.toml", "./r.toml")
    assert (status, out.count("error[")) == (3, 1)
    assert "not-utf-8" in out
    assert err.count("renamed in ") == 2
    assert (home / "s.toml").read_text(encoding="utf-8") == (home / "r.toml").read_text(encoding="utf-8") == FIXED


def test_standard_input_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = check(capsys, "--fix", "-")
    assert (status, out) == (2, "")
    assert "`--fix` writes files, and `-` is none" in err


KEY = st.text(alphabet='ab_- ."é#', min_size=1, max_size=6)


@given(st.lists(KEY, min_size=2, max_size=4, unique=True), st.sampled_from(["plain", "inline", "dotted"]))
def test_a_renamed_text_means_the_same_with_another_name(keys: list[str], form: str) -> None:
    *rest, name = keys
    quoted = ['"' + key.replace('"', '\\"') + '"' for key in rest]
    lines = {
        "plain": "# c\n[t]\n" + "".join(f"{key} = 1 # c\n" for key in quoted),
        "inline": "t = { " + ", ".join(f"{key} = 1" for key in quoted) + " } # c\n",
        "dotted": "".join(f"t.{key} = 1 # c\n" for key in quoted),
    }
    document = parse("f.toml", lines[form])
    text = renamed(document, [(("t", rest[0]), name)])
    assert text is not None
    assert parse("f.toml", text).data == {"t": {name: 1, **dict.fromkeys(rest[1:], 1)}}
    assert text.count("# c") == document.text.count("# c") or "#" in "".join(keys)
