"""Asks the Envoy of this machine whether it takes a bootstrap."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from launcher.model.facts import Answer, Bootstrap

_SECONDS = 30.0


def bootstrap(question: Bootstrap) -> Answer:
    """Yes too where there is no such program, which another question tells, or where it does not answer in time."""
    path = os.environ.get("PATH", os.defpath)
    program = shutil.which(question.program, path=f"{question.first}{os.pathsep}{path}" if question.first else path)
    if program is None:
        return Answer(yes=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bootstrap.json"
        file.write_text(question.text, encoding="utf-8")
        words = [program, "--mode", "validate", "--config-path", str(file)]
        try:
            asked = subprocess.run(words, capture_output=True, timeout=_SECONDS, cwd=folder)
        except (OSError, subprocess.TimeoutExpired):
            return Answer(yes=True)
        if asked.returncode == 0:
            return Answer(yes=True)
        lines = asked.stderr.decode("utf-8", "replace").replace(str(file), "the file").strip().splitlines()
    # Seen with 1.40: lines of its log, then what is wrong.
    text = lines[-1].strip() if lines else f"it ended with {asked.returncode}"
    return Answer(yes=False, text=text, where=program)
