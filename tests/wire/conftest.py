"""One deployment, by the simulated engine and by a real vLLM on CPUs: what the one proves, the other does too."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end.block import block
from tests.end.deployment import Deployment, ended
from tests.end.environments import ROOT, environment
from tests.sim.processes import Answer, ask

MODEL = Path(__file__).with_name("model.py")
COUNTERS = Path(__file__).with_name("counters.py")
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""What has prometheus_client 0.26 keep in a folder what it counts."""
FETCHED = "vllm:external_prefix_cache_hits_total"
"""Tokens of prompts that came from another worker."""
PATIENCE = 600.0
"""Seconds: vLLM loads for 15 s where nobody else works, and for minutes where others do."""


class Wire(Deployment):
    """A deployment of one of the two engines, on nodes of one GPU each unless a layout wants more."""

    def __init__(self, home: Path, shift: int, *, real: bool) -> None:
        super().__init__(home, shift)
        self.real = real
        folder = home / "config" / "launch" / "clusters"
        folder.mkdir(parents=True)
        images = f'[images]\nvllm = "{environment("vllm")}"\n' if real else ""
        text = f'schema = 1\nname = "local"\nnode = {{ gpus = 1 }}\nnodes = 4\n{images}'
        (folder / "local.toml").write_text(text, encoding="utf-8")

    def deploy(self, text: str, *words: str, experts: int = 0, gpus: int = 1) -> None:
        """Ready with the roles, router and flags of `text` on nodes of `gpus` GPUs, or the test fails."""
        cluster = self.home / "config" / "launch" / "clusters" / "local.toml"
        shaped = cluster.read_text(encoding="utf-8").replace("{ gpus = 1 }", f"{{ gpus = {gpus} }}")
        cluster.write_text(shaped, encoding="utf-8")
        model = self.home / "model"
        if self.real:
            python = environment("vllm") / "bin" / "python"
            subprocess.run([python, MODEL, model, str(experts)], check=True)
        base = f'schema = 1\nextends = "{ROOT}/recipes/local/vllm-cpu.toml"\nname = "wire"\ndefaults.gpus = 1\n'
        recipe = self.recipe(f'{base}model.path = "{model}"\n{text}')
        up = self.begin(recipe, "--wait", f"--timeout={PATIENCE:g}s", *words, *(() if self.real else ("--simulate",)))
        code, out, err = ended(up, PATIENCE)
        assert code == 0, out + err

    def request(self, path: str, data: Any = None) -> Answer:
        """One request through the public port."""
        return ask(8000 + self.shift, path, data)

    def answer(self, prompt: str = "one two three") -> dict[str, Any]:
        """One completion of eight tokens."""
        asked = {"model": "tiny", "prompt": prompt, "max_tokens": 8, "ignore_eos": True}
        answer = self.request("/v1/completions", asked)
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.data
        return found

    def counted(self, name: str) -> dict[str, float]:
        """A counter of every worker that is scraped, by step, its data-parallel ranks together."""
        found = {}
        for group in self.scraped():
            host, _, port = group["targets"][0].rpartition(":")
            text = ask(int(port), group["labels"]["__metrics_path__"], host=host).body.decode()
            found[group["labels"]["step"]] = summed(text, name)
        return found

    def kept(self) -> Path:
        """A folder for the counters of a worker that serves none."""
        folder = self.home / "counters"
        folder.mkdir()
        return folder

    def fetched(self, step: str) -> float:
        """Tokens that a worker without metrics took from another: as vLLM counts them, as the simulated engine says."""
        if self.real:
            words = (environment("vllm") / "bin" / "python", COUNTERS, self.home / "counters")
            return summed(subprocess.run(words, check=True, capture_output=True, text=True).stdout, FETCHED)
        log = (self.run / "logs" / f"{step}.log").read_text(encoding="utf-8")
        return sum(map(int, re.findall(r'"Generate" decode:handed-over (\d+) tokens', log)))

    def endpoints(self) -> dict[str, str]:
        """Where each worker is called: its name → host and port."""
        listed = json.loads((self.run / "workers.json").read_text(encoding="utf-8"))["workers"]
        return {each["name"]: each["url"].partition("://")[2] for each in listed}

    def scraped(self) -> list[Any]:
        """The groups of workers in the file that Prometheus reads."""
        groups = json.loads((self.run / "scrape.json").read_text(encoding="utf-8"))
        return [group for group in groups if group["labels"]["role"] not in ("router", "epp", "envoy")]


def summed(text: str, name: str) -> float:
    """The samples of one name in a Prometheus text together."""
    found = [value for sample, value in lines(text) if sample.partition("{")[0] == name]
    assert found, f"no {name}"
    return sum(found)


def lines(text: str) -> list[tuple[str, float]]:
    """The samples of a Prometheus text, name and labels as written."""
    rows = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return [(name, float(value)) for name, _, value in rows]


@pytest.fixture(params=["sim", "vllm"])
def wire(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Wire]:
    """Each test with both engines."""
    with block() as shift:
        made = Wire(tmp_path.resolve(), shift, real=request.param == "vllm")
        try:
            yield made
        finally:
            made.close()
