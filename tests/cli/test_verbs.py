"""Verbs that start nothing: what they print, where, and how they end."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.cli import main
from launcher.cli.explain import explanations
from launcher.cli.ps import age
from launcher.model.schema import schemas
from launcher.run.script import load
from tests.cli.program import ROOT, Program

BAD = 'schema = 1\nname = "bad"\n[model]\nserved_name = "m"\n[roles.worker]\nmanifest = "sim"\nreplicsa = 2\n'

GOOD = 'schema = 1\nname = "good"\n[roles.worker]\nmanifest = "sim"\n'


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.toml"
    path.write_text(BAD, encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_check_of_a_good_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", "quickstart") == (0, "", "`quickstart`: no mistakes found\n")


def test_check_of_a_bad_recipe(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    status, out, err = run(capsys, "check", bad)
    assert status == 3
    assert out.startswith("error[unknown-key]: ")
    assert f" --> {bad}:7:1" in out
    assert "did you mean `replicas`?" in out
    assert err == f"`{bad}`: 1 error\n"


def test_check_of_several(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    assert run(capsys, "check", "quickstart", "./absent.toml")[0] == 2
    status, out, err = run(capsys, "check", "quickstart", bad, "./absent.toml")
    assert status == 3
    assert out.count("error[") == 2
    assert err == "3 recipes: 2 errors\n"


def test_check_in_formats_for_machines(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    for name in ("json", "sarif"):
        status, out, err = run(capsys, "check", bad, "--format", name)
        assert (status, err) == (3, "")
        assert json.loads(out)
        assert json.loads(run(capsys, "check", "quickstart", "--format", name)[1])
    status, out, err = run(capsys, "check", bad, "--format", "github")
    assert (status, err) == (3, "")
    assert out.startswith(f"::error file={bad},line=7,")
    assert run(capsys, "check", "quickstart", "--format", "github") == (0, "", "")


def test_check_from_stdin(launch: Program) -> None:
    done = launch("check", "-", "--format", "concise", stdin=BAD)
    assert done.returncode == 3
    assert done.stdout.startswith("<stdin>:7:1: error[unknown-key]: ")


def test_check_of_a_variant_and_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "check", "quickstart:nope")
    assert (status, "error[unknown-variant]" in out) == (2, True)
    status, out, _ = run(capsys, "check", "quickstart", "--cluster", "gb30")
    assert (status, "did you mean `gb300`?" in out) == (2, True)


def test_check_looks_at_every_variant(launch: Program) -> None:
    variants = "[variants.fine]\nports.shift = 1\n[variants.odd]\nroles.worker.flags.port = 2\n"
    (launch.home / "a.toml").write_text(GOOD + variants, encoding="utf-8")
    (finding,) = json.loads(launch("check", "a.toml", "--format", "json").stdout)["diagnostics"]
    assert (finding["code"], finding["place"]["line"], finding["notes"]) == ("owned-flag", 8, ["in variant `odd`"])
    assert [launch("check", f"a.toml{end}").returncode for end in ("", ":fine", ":odd")] == [3, 0, 3]


def test_an_alias_that_is_nearly_one_of_a_cluster_without_containers(launch: Program) -> None:
    site = 'schema = 1\nname = "site"\nscheduler = "local"\n[images]\nvllm-router = "/opt/router"\n'
    (launch.home / "site.toml").write_text(site, encoding="utf-8")
    (launch.home / "a.toml").write_text(
        f'{GOOD}[router]\nkind = "vllm-router"\nimage = "vlm-router"\n', encoding="utf-8"
    )
    (finding,) = json.loads(launch("check", "a.toml", "--cluster", "./site.toml", "--format", "json").stdout)[
        "diagnostics"
    ]
    assert (finding["severity"], finding["help"]) == ("warning", "did you mean `vllm-router`?")


def test_cluster_of_the_environment(launch: Program) -> None:
    shown = launch("plan", "quickstart", env={"LAUNCH_CLUSTER": "gb300"}).stdout
    assert shown.startswith("quickstart on gb300: ")
    chosen = launch("plan", "quickstart", "--cluster", "local", env={"LAUNCH_CLUSTER": "gb300"}).stdout
    assert chosen.startswith("quickstart on local: ")


def configured(launch: Program, text: str) -> Path:
    path = launch.home / "config" / "launch" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_configured_cluster(launch: Program) -> None:
    path = configured(launch, 'schema = 1\ncluster = "gb300"\n')
    assert launch("plan", "quickstart").stdout.startswith("quickstart on gb300: ")
    assert launch("plan", "quickstart", env={"LAUNCH_CLUSTER": "local"}).stdout.startswith("quickstart on local: ")
    assert launch("plan", "quickstart", "--cluster", "local").stdout.startswith("quickstart on local: ")
    shown = launch("config", "path")
    assert shown.stdout.endswith("gb300.toml\n")
    assert shown.stderr.startswith(f"`gb300` is what `{path.relative_to(launch.home)}` names\n")
    assert 'name = "gb300"' in launch("config", "show").stdout


def test_configured_cluster_of_a_file(launch: Program) -> None:
    path = configured(launch, 'schema = 1\ncluster = "./mine.toml"\n')
    (path.parent / "mine.toml").write_text('schema = 1\nname = "mine"\nscheduler = "local"\n', encoding="utf-8")
    assert launch("plan", "quickstart").stdout.startswith("quickstart on mine: ")


WRONG = [
    ('schema = 1\ncluster = "gb30"\n', "unknown-cluster", ":2:11", "did you mean `gb300`?"),
    ('schema = 1\nclutser = "gb300"\n', "unknown-key", ":2:1", "did you mean `cluster`?"),
    ('cluster = "gb300"\n', "missing-key", "", "write `schema = 1`"),
    ("schema = 1\ncluster = 7\n", "wrong-type", ":2:11", ""),
    ('schema = 1\ncluster = "', "toml-syntax", ":2:11", ""),
    ('schema = 1\ncluster = "./absent.toml"\n', "file-absent", ":2:11", ""),
]


@pytest.mark.parametrize(("text", "code", "where", "help_"), WRONG, ids=[row[1] for row in WRONG])
def test_configuration_that_is_wrong(launch: Program, text: str, code: str, where: str, help_: str) -> None:
    configured(launch, text)
    for verb in (("check", "quickstart"), ("config", "path"), ("config", "show")):
        done = launch(*verb)
        said = done.stdout + done.stderr
        assert (done.returncode, f"error[{code}]" in said) == (3, True), said
        assert f"config/launch/config.toml{where}" in said and help_ in said, said
    assert launch("check", "quickstart", "--cluster", "local").returncode == 0


def test_plan_in_json_is_what_render_prints(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "plan", "quickstart", "--json")
    assert (status, err, out.isascii()) == (0, "", True)
    document = json.loads(out)
    assert document["schema"] == 1
    assert load(json.dumps(document["script"])) == load(run(capsys, "render", "quickstart", "--json")[1])
    assert [step["name"] for step in document["plan"]["steps"]] == ["worker-0", "worker-1", "router"]


def test_plan_says_the_same_from_everywhere(launch: Program) -> None:
    here = launch("plan", "quickstart", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "launcher", "plan", "quickstart", "--json"], cwd="/", capture_output=True, text=True
    )
    assert here.stdout == done.stdout


def test_plan_explains_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("plan", "quickstart", "--explain", "roles.worker.replicas")
    status, out, _ = run(capsys, *words, "--set", "roles.worker.replicas=3", "--set", "roles.worker.replicas=4")
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["set", "by"], ["[roles.worker]", "2"], ["--set", "3"], ["--set", "4"],
    ]  # fmt: skip
    assert out.splitlines()[-1].endswith("← this one counts")
    status, out, _ = run(capsys, "plan", "quickstart", "--explain", "router.flags")
    assert (status, "←" in out, "`router.flags.KEY`" in out) == (0, False, True)
    status, out, err = run(capsys, "plan", "quickstart", "--explain", "roles.worker.replica")
    assert (status, out) == (2, "")
    assert "did you mean `roles.worker.replicas`?" in err


def test_set_and_unset_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    one = ("--set", "ports.shift=7", "--unset", "ports.shift")
    assert "8000" in run(capsys, "plan", "quickstart", *one, "--graph", "text")[1]
    other = ("--set", "ports.shift=1", "--unset", "ports.shift", "--set", "ports.shift=7")
    assert "8007" in run(capsys, "plan", "quickstart", *other, "--graph", "text")[1]


def test_render_on_another_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "render", "quickstart", "--cluster", "gb300")
    assert status == 0
    assert " srun " in out and "--container-image=" in out


@pytest.mark.parametrize("name", ["recipe", "manifest", "cluster", "config"])
def test_schema(capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, out, _ = run(capsys, "schema", name)
    assert (status, json.loads(out)) == (0, schemas()[name])


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "[PORT_IN_USE]")
    assert status == 0
    assert out.startswith("port-in-use\n\nA port of the plan is in use on this machine\n\n")
    listed = run(capsys, "explain")[1].splitlines()
    assert [line.split()[0] for line in listed] == ["code", *sorted(explanations())]
    status, _, err = run(capsys, "explain", "port-in-us")
    assert (status, "did you mean `port-in-use`?" in err) == (2, True)


def codes() -> set[str]:
    """Every code that the package gives a finding, as far as it is written as a literal."""
    found = set()
    for path in (ROOT / "launcher").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = next((keyword.value for keyword in node.keywords if keyword.arg == "code"), None)
            first = first or (node.args[0] if node.args else None)
            if name in {"Diagnostic", "refusal", "Failed"} and isinstance(first, ast.Constant):
                found.add(str(first.value))
    return found


def test_every_code_has_a_page() -> None:
    assert len(codes()) > 40
    assert codes() - set(explanations()) == set()


@pytest.mark.parametrize(("code", "page"), sorted(explanations().items()))
def test_pages_have_a_summary_and_a_text(code: str, page: str) -> None:
    summary, blank, *rest = page.split("\n")
    assert 10 < len(summary) <= 90 and not summary.endswith(".") and not summary[0].islower()
    assert not blank and "".join(rest).strip()


def test_config_path_and_show(launch: Program) -> None:
    own = launch.home / "config" / "launch" / "clusters" / "local.toml"
    own.parent.mkdir(parents=True)
    own.write_text('schema = 1\nname = "local"\n[node]\ngpus = 2\n[env]\nA = "1"\n', encoding="utf-8")
    paths = launch("config", "path").stdout.splitlines()
    assert [Path(path).name for path in paths] == ["local.toml", "local.toml"]
    assert paths[1] == str(own.relative_to(launch.home))
    shown = launch("config", "show").stdout
    assert "gpus = 2" in shown and 'scheduler = "local"' in shown
    broken = launch.home / "broken.toml"
    broken.write_text('schema = 1\nname = "broken"\ngpsu = 2\n', encoding="utf-8")
    refused = launch("config", "show", "--cluster", "./broken.toml")
    assert (refused.returncode, "error[unknown-key]" in refused.stderr) == (3, True)
    unknown = launch("config", "path", "--cluster", "loca")
    assert (unknown.returncode, "did you mean `local`?" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172800, "2 d")],
)
def test_age(seconds: float, text: str) -> None:
    assert age(seconds) == text


def test_timeout_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("up", "quickstart", "--timeout", "soon"), ("wait", "last", "--timeout", "soon")):
        status, out, err = run(capsys, *words)
        assert (status, out) == (2, "")
        assert "error[command-line]: `--timeout`: " in err


def test_all_that_can_be_named(launch: Program) -> None:
    folder = launch.home / "config" / "launch"
    for kind, name, text in (
        ("clusters", "mine", "# Ours:\n# four nodes; ask Ann.\nschema = 1\n"),
        ("manifests", "broken", "schema = \n"),
        ("manifests", "load", 'about = "asks a lot"\n'),
    ):
        path = folder / kind / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    listed = launch("config", "ls")
    rows = [re.split(r" {2,}", line, maxsplit=2) for line in listed.stdout.splitlines()]
    assert (listed.returncode, rows[0]) == (0, ["kind", "name", "about"])
    assert ["recipe", "quickstart", "Two simulated workers behind the real SMG"] in rows
    assert ["manifest", "direct", "no router: one worker owns the public port"] in rows
    assert ["manifest", "load", "asks a lot"] in rows
    assert ["cluster", "mine", "Ours: four nodes"] in rows
    assert any(row[:2] == ["manifest", "broken"] and row[2].startswith("cannot be read: ") for row in rows)
    assert all(about for _, _, about in rows)
