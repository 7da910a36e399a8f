"""Heterogeneous jobs end to end, and plans in allocations that have other components than they would ask for."""

import shutil

import pytest

from tests.slurm.deployment import CLUSTER, Deployed, Site
from tests.testbed.bed import Bed

APART = """\
schema = 1
name = "apart"

[model]
served_name = "tiny"

[defaults]
manifest = "sim"
gpus = 8
flags = { personality = "sglang" }

[roles.prefill]

[roles.decode]
replicas = 2

[router]
kind = "smg"

[slurm]
segment = "role"

[ready]
timeout = "90s"
"""
"""A node for prefill and two for decode, each role's in one NVLink domain: two components."""

WRAPPER = """\
#!/bin/sh
for word; do
    shift
    case $word in --segment=*) ;; *) set -- "$@" "$word" ;; esac
done
exec {real} "$@"
"""
"""`sbatch` without the option that this Slurm is too old for."""


@pytest.fixture
def site(networked: Bed) -> Site:
    cluster = CLUSTER.replace("[slurm]\n", "[topology]\nsegment = true\n\n[versions]\nslurm = '24.11.5'\n\n[slurm]\n")
    made = Site(networked, cluster)
    folder = made.folder / "bin"
    folder.mkdir()
    program = folder / "sbatch"
    program.write_text(WRAPPER.format(real=shutil.which("sbatch")))
    program.chmod(0o755)
    made.env["PATH"] = f"{folder}:{networked.environment()['PATH']}"
    return made


def serves(run: Deployed) -> None:
    """It answers, each role's steps are on their nodes, and it ends without a trace."""
    assert run.ask(on="login")
    where = {step.name.rpartition("@")[0]: step.nodes for step in run.site.bed.steps() if "@" in step.name}
    roles = {name: node for name, node in where.items() if "." not in name}
    assert roles == {"prefill-0": "node1", "decode-0": "node2", "decode-1": "node3", "router": "node1"}
    run.site.launch("down", run.name)
    run.gone()
    assert run.outcome()["state"] == "stopped"
    assert {event.get("exit") for event in run.events if event["event"] == "exit"} == {0}


def held(site: Site, *words: str) -> str:
    """An allocation of three nodes, in the components that the words ask for."""
    options = ["--exclusive", "--gpus-per-node=8"]
    parts = [part for word in words for part in (":", word, *options)][1:]
    submitted = ["sbatch", "--parsable", "--output=/dev/null", *parts, "--wrap=sleep 600"]
    job = int(site.bed.run(submitted).stdout)
    site.bed.wait(job, "RUNNING")
    return str(job)


def test_roles_of_different_sizes_run_in_a_heterogeneous_job(site: Site) -> None:
    run = site.up(text=APART)
    ids = site.bed.ask("squeue", "--noheader", "--format=%i %D", f"--jobs={run.job}").split("\n")
    assert sorted(filter(None, ids)) == [f"{run.job}+0 1", f"{run.job}+1 2"]
    assert run.told()["state"] == "ready"
    serves(run)


@pytest.mark.parametrize("how", ["keeper", "scancel"])
def test_a_heterogeneous_job_ends_as_a_whole(site: Site, how: str) -> None:
    run = site.up(text=APART)
    if how == "scancel":
        site.bed.ask("scancel", run.job)
    else:
        site.bed.run(["kill", "-9", str(run.heard("begin")["keeper"])], user="root")
    assert run.outcome()["state"] in ("cancelled", "broken")
    run.gone()
    left = site.bed.ask("squeue", "--noheader", "--format=%i").split()
    assert left == []


@pytest.mark.parametrize(
    ("parts", "component"),
    [
        (("--nodes=3",), 0),
        (("--nodes=2", "--nodes=1"), 0),
        (("--nodes=1", "--nodes=2"), 1),
    ],
    ids=["one component", "other components", "the same, named by its second"],
)
def test_an_allocation_decides_over_components(site: Site, parts: tuple[str, ...], component: int) -> None:
    job = held(site, *parts)
    site.launch("up", site.recipe(APART), "--wait", "--in", str(int(job) + component))
    run = site.last()
    assert run.job == job
    where = {step.name.rpartition("@")[0]: step.nodes for step in site.bed.steps() if "@" in step.name}
    assert where["decode-1"] == "node3"
    assert run.ask(on="login")
    site.launch("down", run.name)
    assert run.steps() == {}
    assert site.bed.jobs()[int(job)] == "RUNNING"
