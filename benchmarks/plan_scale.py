"""How planning grows: CPU seconds of `plan` for more and more nodes of four GPUs, as JSON on stdout."""

import json
import statistics
import sys
import time

from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.link import Request, link
from launcher.plan.plan import plan

NODES = (625, 1250, 2500, 5000)
ROUNDS = 5


def seconds(nodes: int) -> float:
    """CPU seconds of one plan with a four-GPU worker on each of `nodes` nodes."""
    sets = (f"roles.worker.replicas={nodes}", "roles.worker.gpus=4")
    job = link(Files(), Request("quickstart", "gb300", sets))
    adapters = load({role.manifest.adapter for role in job.roles})
    began = time.process_time()
    made = plan(job, adapters)
    spent = time.process_time() - began
    if made.nodes != nodes:
        raise RuntimeError(f"{made.nodes} nodes planned, {nodes} wanted")
    return spent


def main() -> None:
    taken: dict[int, list[float]] = {nodes: [] for nodes in NODES}
    seconds(NODES[0])
    for number in range(ROUNDS):
        for nodes in reversed(NODES) if number % 2 else NODES:
            taken[nodes].append(seconds(nodes))
    json.dump({nodes: statistics.median(all_) for nodes, all_ in taken.items()}, sys.stdout)


if __name__ == "__main__":
    main()
