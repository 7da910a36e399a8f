"""Repositories made by the real git, whoever runs the tests and however theirs is set up."""

import subprocess
from pathlib import Path

ENV = {
    "PATH": "/usr/bin:/bin",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


def git(folder: Path, *words: str) -> str:
    """What it says in that folder."""
    done = subprocess.run(["git", *words], cwd=folder, env=ENV, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> str:
    """Writes the files (`a__b` is `a/b`), commits all there is, returns the commit."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "c")
    return git(folder, "rev-parse", "HEAD")
