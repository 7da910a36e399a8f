"""Programs people use for the same work, each in an environment of its own made from the package index."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HUNDRED = Path(__file__).with_name("hundred")

STANDINS = {"sbatch": 'echo "Submitted batch job 1"', "srun": "true"}
"""Programs of Slurm without which some peers do nothing: shell scripts that are first on PATH while measuring."""


@dataclass(frozen=True)
class Peer:
    """One program: `package` at `version`, and the commands to measure (first words from its environment).

    `hundred` is the script in `hundred/` that does its work a hundred times in one process.
    """

    package: str
    version: str
    words: Mapping[str, Sequence[str]]
    hundred: str

    @property
    def home(self) -> Path:
        """Its environment."""
        return ROOT / f".venv-{self.package}"

    def install(self) -> None:
        """Makes the environment unless it is there."""
        made = self.home / f"made-{self.version}"
        if made.exists():
            return
        print(f"installing {self.package} {self.version} into {self.home.name} (once)", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", self.home], check=True)
        pip = [str(self.home / "bin" / "python"), "-m", "pip", "-qq", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, f"{self.package}=={self.version}"], check=True)
        made.touch()

    def commands(self) -> dict[str, list[str]]:
        """Name → words, with the program's full path."""
        return {name: self._located(words) for name, words in self.words.items()}

    def many(self) -> list[str]:
        """Words that do the work a hundred times and print `{"all": SECONDS}` of one."""
        return self._located(["python", str(HUNDRED / self.hundred)])

    def _located(self, words: Sequence[str]) -> list[str]:
        return [str(self.home / "bin" / words[0]), *words[1:]]


_TORCHX = ("torchx", "run", "--scheduler", "slurm", "--dryrun", "utils.echo", "--msg", "hello")
_VEC_INF = ("vec-inf", "launch", "Meta-Llama-3.1-8B-Instruct", "--account", "a", "--work-dir", ".")

PEERS = (
    Peer(
        "torchx",
        "0.7.0",
        {"torchx --help": ["torchx", "--help"], "torchx run --dryrun": _TORCHX},
        "torchx_jobs.py",
    ),
    Peer(
        "vec-inf",
        "0.9.0",
        {
            "vec-inf --help": ["vec-inf", "--help"],
            "vec-inf launch": [*_VEC_INF, "--hf-model", "org/model", "--vllm-args", "--max-model-len=8192"],
        },
        "vec_inf_models.py",
    ),
    Peer(
        "submitit",
        "1.5.4",
        {
            "import submitit": ["python", "-c", "import submitit"],
            "submitit: one job": ["python", str(HUNDRED / "submitit_jobs.py"), "one"],
        },
        "submitit_jobs.py",
    ),
)
"""vec-inf has no dry run, submitit no command line: both submit to a stand-in of `sbatch`. None of them checks the
engine's flags, ports, mounts or images.
"""
