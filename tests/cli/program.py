"""The real program in a process of its own, with an environment that holds nothing of the tester's."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAUNCH = (sys.executable, "-m", "launcher")


class Program:
    """`launch` in the directory `home`, which is its HOME, state and current directory."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def env(self, extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """The environment of a run; None in `extra` takes a variable away."""
        base: dict[str, str | None] = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "LANG": "C.UTF-8",
            **(extra or {}),
        }
        return {name: value for name, value in base.items() if value is not None}

    def __call__(
        self, *words: str, env: Mapping[str, str | None] | None = None, stdin: str | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Runs to the end; stdin is empty unless given."""
        return subprocess.run(
            [*LAUNCH, *words],
            cwd=self.home,
            env=self.env(env),
            input=stdin or "",
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=timeout,
        )

    def start(self, *words: str, env: Mapping[str, str | None] | None = None) -> subprocess.Popen[str]:
        """Starts it in a session of its own, stdout and stderr piped."""
        return subprocess.Popen(
            [*LAUNCH, *words],
            cwd=self.home,
            env=self.env(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            start_new_session=True,
        )
