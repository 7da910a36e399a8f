"""Programs people use for the same work, each in an environment of its own made from the package index."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Peer:
    """One program: `package` at `version`, and the commands to measure (first words from its environment)."""

    package: str
    version: str
    words: Mapping[str, Sequence[str]]

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
        return {name: [str(self.home / "bin" / program), *rest] for name, (program, *rest) in self.words.items()}


PEERS = (
    Peer(
        "torchx",
        "0.7.0",
        {
            "torchx --help": ["torchx", "--help"],
            "torchx run --dryrun": [
                "torchx",
                "run",
                "--scheduler",
                "slurm",
                "--dryrun",
                "utils.echo",
                "--msg",
                "hello",
            ],
        },
    ),
)
