"""A real SGLang on CPUs with the launcher's own words, behind the real routers; its numbers mean nothing.

What is proved is launch, ports, hand-off and wire; `tests/environments/heavy/sglang` says what stands in for kernels.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end.block import block
from tests.end.deployment import Deployment, ended, until
from tests.end.environments import ROOT, environment
from tests.sim.processes import ask, samples
from tests.wire.conftest import MODEL, PATIENCE

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3 * PATIENCE)]

RECIPE = """\
schema = 1
name = "sglang"
model = {{ path = "{model}", served_name = "tiny" }}
ready.timeout = "10m"

[defaults]
manifest = "sglang"
gpus = 1
env = {{ SGLANG_USE_CPU_ENGINE = "1", HF_HUB_OFFLINE = "1", OMP_NUM_THREADS = "1" }}
[defaults.flags]
load-format = "dummy"
device = "cpu"
attention-backend = "torch_native"
sampling-backend = "pytorch"
disable-cuda-graph = true
disable-overlap-schedule = true
grammar-backend = "none"
skip-server-warmup = true
[defaults.config]                      # the engine's own file
max-total-tokens = 4096
mem-fraction-static = 0.1
"""
HALVES = """
[roles.prefill]
flags = { disaggregation-transfer-backend = "mooncake_tcp" }
[roles.decode.flags]
disaggregation-transfer-backend = "mooncake_tcp"
# Its pool of host memory asks for CUDA.
disaggregation-decode-retraction-backup = "none"
[router]
kind = "%s"
"""
BIND = 'env.SGLANG_CPU_OMP_THREADS_BIND = "0|1"\n'
"""CPUs of each rank, where there are fewer NUMA nodes than ranks."""


class Sglang(Deployment):
    """Deployments on nodes of one GPU each, which are this machine."""

    def __init__(self, home: Path, shift: int) -> None:
        super().__init__(home, shift)
        folder = home / "config" / "launch" / "clusters"
        folder.mkdir(parents=True)
        images = "".join(f'{name} = "{environment(name)}"\n' for name in ("sglang", "sglang-router"))
        text = f'schema = 1\nname = "local"\nnode = {{ gpus = 1 }}\nnodes = 4\n[images]\n{images}'
        (folder / "local.toml").write_text(text, encoding="utf-8")

    def deploy(self, text: str) -> None:
        """Ready with these roles and this router, or the test fails."""
        model = self.home / "model"
        subprocess.run([environment("vllm") / "bin" / "python", MODEL, model, "0"], check=True, cwd=ROOT)
        up = self.begin(self.recipe(RECIPE.format(model=model) + text), "--wait")
        code, out, err = ended(up, 2 * PATIENCE)
        assert code == 0, out + err

    def answer(self) -> dict[str, Any]:
        """One completion of eight tokens."""
        asked = {"model": "tiny", "prompt": "one two three", "max_tokens": 8, "ignore_eos": True}
        answer = ask(8000 + self.shift, "/v1/completions", asked)
        assert answer.status == 200, answer.body
        assert answer.data["usage"]["completion_tokens"] == 8
        found: dict[str, Any] = answer.data
        return found

    def end(self) -> None:
        assert self("down", "last").returncode == 0
        assert self.left() == []
        assert self.outcome()["exit"] == 0


@pytest.fixture
def sglang(tmp_path: Path) -> Iterator[Sglang]:
    with block() as shift:
        made = Sglang(tmp_path.resolve(), shift)
        try:
            yield made
        finally:
            made.close()


def test_aggregate(sglang: Sglang) -> None:
    """What the engine's own file says counts, and its metrics are where the plan says."""
    sglang.deploy('[roles.worker]\n[router]\nkind = "sglang-router"\n')
    sglang.answer()
    chat = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "stream": True}
    assert len(ask(8000 + sglang.shift, "/v1/chat/completions", chat).events) > 1
    counted = samples(ask(6100 + sglang.shift, "/metrics").body.decode())
    assert any(name.startswith("sglang:") for name in counted)
    assert ask(6100 + sglang.shift, "/get_server_info").data["max_total_tokens"] == 4096
    sglang.end()


@pytest.mark.parametrize("router", ["sglang-router", "smg"])
def test_prefill_and_decode(sglang: Sglang, router: str) -> None:
    """By Mooncake over TCP: decode is told prefill's bootstrap port."""
    sglang.deploy(HALVES % router)
    sglang.answer()
    log = (sglang.run / "logs" / "prefill-0.log").read_text(encoding="utf-8", errors="replace")
    assert "bootstrap" in log.casefold()
    sglang.end()


def test_ranks_on_two_nodes_and_a_follower_that_dies(sglang: Sglang) -> None:
    sglang.deploy("[roles.worker]\ngpus = 2\nflags = { tp-size = 2 }\n" + BIND)
    sglang.answer()
    os.kill(sglang.pid("worker-0-rank1"), signal.SIGKILL)
    until(lambda: sglang.seen("end"), "the end of the run", PATIENCE)
    assert (sglang.outcome()["exit"], sglang.outcome()["first"]["step"]) == (7, "worker-0-rank1")


def test_over_grpc(sglang: Sglang) -> None:
    sglang.deploy('[roles.worker]\nflags = { smg-grpc-mode = true }\n[router]\nkind = "smg"\n')
    sglang.answer()
    sglang.end()
