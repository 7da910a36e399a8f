"""Nodes that fail, and nodes that bind steps to CPUs."""

import os
from pathlib import Path

from tests.slurm.deployment import CLUSTER, RECIPE, Site
from tests.testbed.bed import Bed
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started


def test_a_lost_node_is_the_cause_once_slurm_says_so() -> None:
    with started(Layout(nodes=3, networks=("eth0", "hsn0"), slurmd_timeout=10)) as bed:
        run = Site(bed).up()
        bed.kill("node2")
        bed.wait(int(run.job), timeout=120)
        run.told()
        outcome = run.outcome()
        assert (outcome["state"], outcome["exit"]) == ("failed", 7)
        assert outcome["cause"] == f"a node of job {run.job} failed (NODE_FAIL)"
        assert bed.jobs()[int(run.job)] in ("NODE_FAIL", "FAILED")


def test_a_step_has_the_cpus_of_its_node(bound: Bed) -> None:
    cpus = os.cpu_count() or 1
    cluster = CLUSTER.replace('interface = "hsn0"\n', "").replace("cpus = 32", f"cpus = {cpus}")
    run = Site(bound, cluster).up(text=RECIPE.replace("replicas = 2", "replicas = 1"))
    for child in ("worker-0", "router"):
        status = Path(f"/proc/{run.task(child)}/status").read_text()
        mask = next(line for line in status.splitlines() if line.startswith("Cpus_allowed:")).split()[1]
        assert bin(int(mask.replace(",", ""), 16)).count("1") == cpus
    assert not [event for event in run.events if event["event"] == "few-cpus"]
    run.site.launch("down", run.name)
