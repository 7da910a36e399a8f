"""A project with a definition of an image of its own, and a cluster to build it for."""

import os
import shlex
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.program import LAUNCH, ROOT, Program
from tests.testbed import apptainer
from tests.testbed.registry import Served

NOBODY = 65534

TOOL = """\
schema = 1
description = "a tool of ours"
arch = ["x86_64", "aarch64"]

[base]
reference = "{base}"

[args]
TOOL_VERSION = "1.0"

[programs]
tool = "${{TOOL_VERSION}}"
"""

CONTAINERFILE = """\
ARG BASE=none
FROM ${BASE} AS made
ARG TOOL_VERSION=0
RUN mkdir -p /made/bin && \\
    printf '#!/bin/sh\\necho tool %s\\n' "${TOOL_VERSION}" >/made/bin/tool && \\
    chmod 755 /made/bin/tool

FROM ${BASE}
COPY --from=made /made /usr/local
ENV FROM_IMAGE=yes
RUN tool >/said
"""


class Unprivileged(Program):
    """The program of a user who is not root, with Apptainer on PATH; all in its home is theirs."""

    def __call__(
        self, *words: str, env: Mapping[str, str | None] | None = None, stdin: str | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Runs to the end, as its base does."""
        for path in (self.home, *self.home.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        search = f"{apptainer.apptainer().parent}:{os.environ['PATH']}"
        own = {"PATH": search, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT), **(env or {})}
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        return subprocess.run(
            [*user, *LAUNCH, *words],
            cwd=self.home,
            env=self.env(own),
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=timeout,
        )


def told(*words: str) -> str:
    """What Apptainer says of a file."""
    env = {"PATH": os.environ["PATH"], "HOME": "/"}
    done = subprocess.run([apptainer.apptainer(), *words], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inside(file: str, *words: str) -> str:
    """What a program of a `.sif` says."""
    return told("exec", "--userns", file, *words)


@dataclass
class Place:
    """The program in a project of its own, with a registry that has a base."""

    launch: Program
    served: Served
    base: str
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 280

    def images(self, words: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        done = self.launch(
            "images",
            *shlex.split(words),
            "--cluster",
            "./site.toml",
            env={**self.env, **(env or {})},
            timeout=self.timeout,
        )
        return done.returncode, done.stdout, done.stderr

    def site(self, images: str, runtime: str = "pyxis", store: bool = True) -> None:
        kept = f'[store]\npath = "{self.launch.home}/store"\n' if store else ""
        head = f'schema = 1\nname = "site"\nruntime = "{runtime}"\narch = "x86_64"\nruns = "/tmp"\n'
        self.write("site.toml", f"{head}{kept}[images]\n{images}\n")

    def write(self, path: str, text: str) -> Path:
        file = self.launch.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def only_copy(self) -> None:
        """The definition does nothing but copy a file."""
        copy = f'[[copy]]\nfrom = "{self.base}"\nsource = "/bin/sh"\ntarget = "/usr/bin/tool"\n'
        self.write("images/tool/image.toml", TOOL.format(base=self.base) + copy)
        (self.launch.home / "images/tool/Containerfile").unlink(missing_ok=True)

    def lock(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = tomllib.loads((self.launch.home / "launch.lock").read_text())["image"]
        return found

    def inside(self, path: str, file: str) -> str:
        """A file of a `.sqsh`."""
        return subprocess.run(["unsquashfs", "-cat", path, file], capture_output=True, text=True, check=True).stdout
