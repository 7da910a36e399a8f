"""Starts every `srun` of bound Scripts by the supervisor's own means, in a job that is there: run by `test_received`.

`FOLDER`: each folder in it is a run directory with a `script.json`. Printed is one line of JSON, run → exit codes.
"""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from launcher.run import child, errand
from launcher.run.script import Script, load

ABOUT = "TERM"
"""What nodes are told of a run's first child."""


def asked(script: Script) -> Iterator[tuple[str, ...]]:
    """The words that the supervisor runs beside the steps."""
    assert script.allocation is not None
    yield script.allocation.facts
    for node in script.allocation.nodes:
        yield (*node.tell, ABOUT, script.children[0].name)


def started(run: Path) -> list[int]:
    """The exit codes of all steps of a run directory, which were started at once."""
    script = load((run / "script.json").read_text())
    env = child.inherited(script.inherit, child.shell())
    running = [child.start(each, script, str(run)) for each in script.children]
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda words: errand.fetch(words, env, str(run)), asked(script)))
    return [each._process.wait() for each in running] + [int(each["exit"]) for each in told]


if __name__ == "__main__":
    runs = sorted(path.parent for path in Path(sys.argv[1]).glob("*/script.json"))
    sys.stdout.write(json.dumps({run.name: started(run) for run in runs}) + "\n")
