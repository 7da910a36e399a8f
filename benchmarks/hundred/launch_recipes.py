"""A hundred recipes in one process: CPU seconds of each, checked alone and checked, planned and rendered."""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from launcher.cli import stages
from launcher.model.link import Request
from launcher.plan.plan import plan
from launcher.render.script import render
from launcher.run.script import to_data

RECIPE = Path(__file__).parents[2] / "recipes" / "quickstart.toml"
CLUSTER = "gb300"


def work(paths: Sequence[str], *, rendered: bool) -> float:
    """CPU seconds of one recipe."""
    began = time.process_time()
    documents = stages.library()
    for path in paths:
        checked = stages.accepted(Request(path, CLUSTER), documents)
        if rendered:
            json.dumps(to_data(render(plan(checked.job, checked.adapters), checked.job.cluster)))
    return (time.process_time() - began) / len(paths)


def main() -> None:
    text = RECIPE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number in range(102):
            path = Path(folder) / f"r{number}.toml"
            own = text.replace('"quickstart"', f'"r{number}"').replace("replicas = 2", f"replicas = {1 + number % 8}")
            path.write_text(own, encoding="utf-8")
            paths.append(str(path))
        work(paths[100:], rendered=True)
        json.dump({"check": work(paths[:100], rendered=False), "all": work(paths[:100], rendered=True)}, sys.stdout)


if __name__ == "__main__":
    main()
