"""What a stranger gets: the documents hold together, and the wheel works outside the checkout."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from docs.generate import BLOCK
from launcher.model.schema import schemas
from tests.end.block import block

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOCUMENTS = sorted(path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")))


def run(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)), cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose)
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_quoted_blocks_are_closed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"^<!-- (?:\$ launch|file|causes) ", text, re.MULTILINE)) == len(BLOCK.findall(text))


def undocumented(name: str, schema: Any, path: str = "") -> Iterator[str]:
    for key, value in schema.get("properties", {}).items():
        if not value.get("description"):
            yield f"{name}: {path}{key}"
    for title, below in schema.get("$defs", {}).items():
        yield from undocumented(name, below, f"{title}.")


def test_every_key_has_its_meaning() -> None:
    assert [fault for name, schema in schemas().items() for fault in undocumented(name, schema)] == []


def test_readme_names_the_two_commands_and_the_makefile_has_them() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert {"make demo", "make test"} <= set(re.findall(r"make [a-z]+", readme))
    assert targets >= {"setup", "demo", "test", "test-all", "check", "format", "golden", "docs", "bench", "clean"}
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS]
    named = {target for text in texts for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", text)}
    assert named - targets == set()


def test_constraints_pin_what_the_project_asks_for() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {normal(line.partition("==")[0]) for line in lines if not line.startswith("#")}
    asked = [*PROJECT["dependencies"], *(one for group in PROJECT["optional-dependencies"].values() for one in group)]
    assert {normal(re.split(r"[<>=!~\[; ]", one)[0]) for one in asked} - pinned == {PROJECT["name"]}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment outside the checkout with the built wheel; its dependencies are lent by ours."""
    folder = tmp_path_factory.mktemp("outside")
    built = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", ROOT, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    python = folder / "venv" / "bin" / "python"
    assert run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder).returncode == 0
    pip = (sys.executable, "-m", "pip", "--python", python, "--isolated", "--disable-pip-version-check")
    installed = run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    assert installed.returncode == 0, installed.stderr
    asked = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    Path(asked.stdout.strip(), "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder


def launch(outside: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(outside), "LANG": "C.UTF-8"}
    return run(outside / "venv" / "bin" / "launch", *words, cwd=outside, env=env)


def test_wheel_is_what_runs_outside(outside: Path) -> None:
    found = run(outside / "venv" / "bin" / "python", "-c", "import launcher; print(launcher.__file__)", cwd=outside)
    assert Path(found.stdout.strip()).is_relative_to(outside)


@pytest.mark.parametrize(
    ("words", "out", "err"),
    [
        ("--version", f"launch {PROJECT['version']}", ""),
        ("schema recipe", '"$defs"', ""),
        ("check quickstart", "", "`quickstart`: no mistakes found"),
        ("plan quickstart", "quickstart on local", ""),
        ("render quickstart --cluster gb300", "srun", ""),
        ("config path", "local.toml", "/etc/launch/clusters"),
    ],
)
def test_wheel_works_outside(outside: Path, words: str, out: str, err: str) -> None:
    done = launch(outside, *words.split())
    assert done.returncode == 0, done.stderr
    assert out in done.stdout
    assert err in done.stderr
    assert bool(done.stderr) is bool(err), done.stderr


def test_wheel_plans_as_the_checkout_does(outside: Path) -> None:
    words = ("plan", "quickstart", "--cluster", "gb300", "--json")
    here = run(sys.executable, "-m", "launcher", *words, cwd=ROOT)
    assert json.loads(launch(outside, *words).stdout) == json.loads(here.stdout)


def test_wheel_brings_a_run_up_and_down_outside(outside: Path) -> None:
    with block() as shift:
        began = launch(outside, "up", "quickstart", "--wait", "--set", f"ports.shift={shift}")
        ended = launch(outside, "down", "last")
    assert began.returncode == 0, began.stderr
    assert f"tiny is ready at http://127.0.0.1:{8000 + shift}" in began.stdout
    assert (ended.returncode, "stopped by `down`" in ended.stderr) == (0, True)
