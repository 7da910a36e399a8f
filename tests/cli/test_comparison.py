"""`launch plan --diff`: against another recipe, and against a run's plan as it was written then."""

import json
from pathlib import Path

import pytest

from launcher.cli import main
from tests.cli.program import Program

NAME = "quickstart-20261130-101500-3fa9"
SAME = "`quickstart` and `quickstart` have the same plan\n"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def kept(launch: Program, document: str) -> Path:
    """A run directory with a plan."""
    path = launch.home / "state" / "launch" / "runs" / NAME
    path.mkdir(parents=True)
    (path / "plan.json").write_text(document, encoding="utf-8")
    return path


def test_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "plan", "quickstart", "--diff", "quickstart") == (0, "", SAME)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--set", "ready.timeout=90", "--set", 'router.env.A="x"', "--set", 'router.env.HF_TOKEN="abcdefghijkl"')
    status, out, _ = run(capsys, "plan", "quickstart", *words, "--diff", "quickstart")
    assert status == 1
    assert (
        out
        == """\
--- quickstart
+++ quickstart
plan
  timeout
-   60 s
+   90 s
step router
  words
-   --worker-startup-timeout-secs=60
+   --worker-startup-timeout-secs=90
  env.A
+   x
  env.HF_TOKEN
+   ************
"""
    )


UNITS = """\
schema = 1
name = "units"
[model]
served_name = "tiny"
[roles.worker]
manifest = "sim"
gpus = 4
[slurm]
time = "1h30m"
[variants.more.slurm]
time = "2d"
[variants.more.roles.worker]
gpus = 2
"""


def test_sizes_and_times_have_units(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, memory in (("a", "800G"), ("b", "400001M")):
        (tmp_path / f"{name}.toml").write_text(
            f'schema = 1\nname = "{name}"\nruntime = "none"\n[slurm]\nexclusive = false\n'
            f'[node]\ngpus = 4\ncpus = 8\nmemory = "{memory}"\n',
            encoding="utf-8",
        )
    recipe = tmp_path / "units.toml"
    recipe.write_text(UNITS, encoding="utf-8")
    for name, sizes in (("a", ("800 GiB", "400 GiB")), ("b", ("400001 MiB", "200000 MiB"))):
        cluster = ("--cluster", str(tmp_path / f"{name}.toml"))
        status, out, _ = run(capsys, "plan", f"{recipe}:more", *cluster, "--diff", str(recipe))
        assert status == 1
        for before, after in (("01:30:00", "2-00:00:00"), sizes):
            assert f"-   {before}\n+   {after}\n" in out
        assert f'"memory": "{sizes[0]}"' in out and f'"memory": "{sizes[1]}"' in out


def test_steps_that_come_and_go(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "plan", "quickstart", "--set", "roles.worker.replicas=1", "--diff", "quickstart")
    assert status == 1
    assert "- step worker-1\n-   {python} {run}/sim.pyz\n" in out
    assert "-   --worker-urls http://{ip0}:6100 http://{ip0}:6132\n+   --worker-urls http://{ip0}:6100\n" in out


def test_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('schema = 1\nname = "quickstart"\nextends = "quickstart"\nrouter.setup = "echo a"\n')
    status, out, _ = run(capsys, "plan", str(recipe), "--diff", "quickstart")
    assert (status, "\n+ file setup/router.sh\n" in out) == (1, True)
    other = tmp_path / "other.toml"
    other.write_text(recipe.read_text().replace("echo a", "echo b"))
    status, out, _ = run(capsys, "plan", str(recipe), "--diff", str(other))
    assert status == 1
    assert out == f"--- {other}\n+++ {recipe}\nfile setup/router.sh\n  text\n-   echo b\n+   echo a\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("plan", "quickstart", "--set", "ready.timeout=90", "--diff", "quickstart", "--json")
    status, out, err = run(capsys, *words)
    document = json.loads(out)
    assert (status, err, document["schema"], document["equal"]) == (1, "", 1, False)
    assert document["plan"] == {"timeout": {"before": 60.0, "after": 90.0}}
    status, out, _ = run(capsys, "plan", "quickstart", "--diff", "quickstart", "--json")
    assert (status, json.loads(out)["equal"]) == (0, True)


def test_a_run(launch: Program) -> None:
    kept(launch, launch("plan", "quickstart", "--json").stdout)
    for word in (NAME, "last", "quickstart-2026"):
        same = launch("plan", "quickstart", "--diff", word)
        assert (same.returncode, same.stdout) == (0, "")
        assert same.stderr == f"`quickstart` and `{NAME}` have the same plan\n"
    changed = launch("plan", "quickstart", "--set", "ports.shift=1", "--diff", "last")
    assert changed.returncode == 1
    assert changed.stdout.startswith(f"--- {NAME}\n+++ quickstart\nplan\n  url\n")
    assert "  ports.http\n-   6100\n+   6101\n" in changed.stdout


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2, "plan": {}}', '{"schema": 1}', '{"schema": 1, "plan": 3}'])
def test_a_run_whose_plan_is_none(launch: Program, text: str) -> None:
    kept(launch, text)
    done = launch("plan", "quickstart", "--diff", "last")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[run-directory]: `")
    assert text in ("", '{"schema": 2, "plan": {}}') or "its content is not what `launch` writes" in done.stderr


def test_words_that_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--graph", "text"), ("--explain", "name")):
        status, out, err = run(capsys, "plan", "quickstart", "--diff", "quickstart", *words)
        assert (status, out) == (2, "")
        assert "`--diff` goes with `--json` alone" in err


def test_what_is_not_there(launch: Program) -> None:
    assert "error[unknown-run]" in launch("plan", "quickstart", "--diff", "no-such-run").stderr
    absent = launch("plan", "quickstart", "--diff", "./absent.toml")
    assert (absent.returncode, "error[file-absent]" in absent.stderr) == (2, True)


def test_secrets_are_shown_by_no_verb(capsys: pytest.CaptureFixture[str]) -> None:
    value = "a-long-enough-word"
    words = ("--set", f'roles.worker.env.HF_TOKEN="{value}"', "--set", f'router.setup="login --api-key {value}"')
    for verb in (
        ("plan", "quickstart"),
        ("plan", "quickstart", "--diff", "quickstart"),
        ("plan", "quickstart", "--explain", "roles.worker.env.HF_TOKEN"),
        ("plan", "quickstart", "--explain", "router.setup"),
        ("render", "quickstart"),
        ("render", "quickstart", "--cluster", "gb300"),
        *(("check", "quickstart", "--format", name) for name in ("full", "concise", "json", "github", "sarif")),
    ):
        status, out, err = run(capsys, *verb, *words)
        assert status in (0, 1) and value not in out + err, verb
        assert "*****" in out or verb[0] == "check"
