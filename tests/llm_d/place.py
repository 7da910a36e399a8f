"""A directory that is an image without containers: the real Envoy, and the stand-ins under the real programs' names."""

from pathlib import Path

from tests.end.environments import environment
from tests.llm_d.words import ROOT

_SCRIPT = """#!/bin/sh
PYTHONPATH='{root}' PYTHONDONTWRITEBYTECODE=1 exec '{python}' -m tests.llm_d.{module} "$@"
"""


def programs(folder: Path) -> Path:
    """Makes the directory."""
    home = environment("llm-d")
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "envoy").symlink_to(home / "bin" / "envoy")
    for name, module in (("epp", "epp"), ("pd-sidecar", "sidecar")):
        script = folder / "bin" / name
        script.write_text(_SCRIPT.format(root=ROOT, python=home / "bin" / "python", module=module), encoding="utf-8")
        script.chmod(0o755)
    return folder
