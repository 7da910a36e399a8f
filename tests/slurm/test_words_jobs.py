"""Jobs as a Script submits them: cancelled, in components, and with nodes that are not as they should be."""

from collections.abc import Iterator

import pytest

from launcher.plan.step import Mount
from launcher.run.script import ref
from tests.render import plans
from tests.slurm.test_words import REPORT, cluster, deployment
from tests.slurm.words import begun, ended
from tests.testbed import image, plugin
from tests.testbed.bed import Bed
from tests.testbed.image import ENGINE
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started


@pytest.fixture(scope="module")
def site() -> Iterator[Bed]:
    """Three nodes with addresses of their own and pyxis's stand-in."""
    with started(Layout(nodes=3, networks=("eth0", "hsn0")), plugin.plugin(), {"enroot": plugin.ENROOT}) as running:
        yield running


def test_a_job_that_is_cancelled_is_cleaned_by_the_janitor(site: Bed) -> None:
    running = begun(site, deployment(str(image.squashfs(ENGINE))), cluster("pyxis", site))
    running.up({})
    assert running.bound.allocation is not None
    names = [root.name for root in running.bound.allocation.roots]
    assert len(names) == 2
    listed = site.run(["enroot", "list"], on="node1").stdout
    assert all(name in listed for name in names)
    site.ask("scancel", str(running.job))
    site.wait(running.job)
    site.settled()
    for node in ("node1", "node2"):
        assert site.run(["enroot", "list"], on=node).stdout.split() == []
    assert site.processes("alice") == {}
    ended(running)


def test_a_heterogeneous_job_has_its_steps_in_their_components(site: Bed) -> None:
    steps = [
        plans.step(f"w-{node}", (node,), words=(ref("python"), "-c", REPORT, ref("run")), reference=None)
        for node in range(3)
    ]
    made = plans.plan(*steps, on=plans.batch(1, 2))
    running = begun(site, made, cluster("none", site))
    assert [fact["node"] for fact in running.facts] == ["node1", "node2", "node3"]
    assert [fact["index"] for fact in running.facts] == [0, 1, 2]
    running.up({})
    assert [running.reports(f"w-{node}")[0]["node"] for node in range(3)] == ["node1", "node2", "node3"]
    assert set(running.steps()) == {"w-0", "w-1", "w-2"}
    assert all(len(pids) == 1 for pids in running.tell("TERM", "w-0", "w-1", "w-2").values())
    assert [running.wait(f"w-{node}") for node in range(3)] == [0, 0, 0]
    ended(running)


def test_facts_tell_of_ports_and_paths(site: Bed) -> None:
    made = plans.plan(plans.step(ports={"http": 7791}, mounts=(Mount("/nope", "/x"),)), on=plans.batch(1))
    listening = (
        "import socket, time; s = socket.create_server(('10.77.1.101', 7791)); print('on', flush=True); time.sleep(60)"
    )
    with site.start(["/usr/bin/python3", "-c", listening], on="node1") as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "on\n"
        running = begun(site, made, cluster("pyxis", site))
        holder.kill()
    (fact,) = running.facts
    assert (fact["busy"], fact["missing"]) == ([7791], ["/nope"])
    ended(running)
