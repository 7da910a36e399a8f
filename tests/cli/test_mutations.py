"""A wrong recipe is refused with a diagnostic, whatever is wrong with it; nothing crashes, nothing starts."""

from pathlib import Path

import pytest

from launcher.cli import main
from tests.cli.mutation import mutations
from tests.cli.program import ROOT

WIDE = """\
schema = 1
name = "wide"
allow = ["mounts-ignored"]
extends = "quickstart.toml"
[model]
path = "/models/m"
served_name = "m"
[defaults]
manifest = "sim"
env = { A = "1", B = '{"json": [1, 2]}' }
env_from = ["HF_TOKEN"]
flags = { personality = "sglang", token-latency = 0.5 }
[roles.worker]
setup = '''
ulimit -n 4096
'''
on = "head"
mounts = [{ source = "/data", target = "/data", read_only = true }]
[router]
kind = "smg"
flags = { policy = "cache_aware", max-concurrent-requests = 64 }
[ready]
timeout = "1h30m"
[ports]
public = 9000
shift = 100
[variants.small]
roles.worker.replicas = 1
[on.gb300]
defaults.gpus = 4
"""
QUICKSTART = (ROOT / "recipes" / "quickstart.toml").read_text(encoding="utf-8")
SEEDS = [QUICKSTART, WIDE]


def sweep(path: Path, count: int, seed: int, capsys: pytest.CaptureFixture[str]) -> set[int]:
    """Exit codes met; asserts what must hold for each text."""
    (path.parent / "quickstart.toml").write_text(QUICKSTART, encoding="utf-8")
    statuses = set()
    for text in mutations(SEEDS, count, seed):
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        status = main(["check", str(path)])
        shown = capsys.readouterr()
        assert status in {0, 2, 3}, f"{status}\n{shown.out}{shown.err}\n{text}"
        assert (status != 0) == ("error[" in shown.out), f"{status}\n{shown.out}{shown.err}\n{text}"
        assert "Traceback" not in shown.out + shown.err and "internal-error" not in shown.out + shown.err, text
        statuses.add(status)
    return statuses


@pytest.mark.parametrize("seed", range(4))
def test_mutated_recipes(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    assert sweep(tmp_path / "mutated.toml", 500, seed, capsys) == {0, 3}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mutated.toml", "quickstart.toml"]


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_are_accepted(tmp_path: Path, seed: str) -> None:
    (tmp_path / "quickstart.toml").write_text(QUICKSTART, encoding="utf-8")
    (tmp_path / "seed.toml").write_text(seed, encoding="utf-8")
    assert main(["check", str(tmp_path / "seed.toml")]) == 0


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_mutated_recipes(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    assert {0, 3} <= sweep(tmp_path / "mutated.toml", 5000, seed, capsys) <= {0, 2, 3}
