"""The testbed's other kinds: nodes with addresses of their own, PMIx, bound CPUs, sites without pyxis."""

import os
from collections.abc import Sequence

import pytest

from tests.testbed.bed import Bed

LISTEN = "import socket, time\ns = socket.create_server(('0.0.0.0', 7777))\nprint(*s.getsockname())\ntime.sleep(0.5)"
REACH = "import socket\nsocket.create_connection(('node2-hsn0', 7778), 20).sendall(b'hello')"
TAKE = (
    "import socket\ns = socket.create_server(('10.77.1.102', 7778))\n"
    "print('listening', flush=True)\nprint(s.accept()[0].recv(9).decode())"
)
PYTHON = "/usr/bin/python3"


def test_nodes_have_addresses_of_their_own(networked: Bed) -> None:
    line = "ip -4 -oneline address | awk '$2 ~ /eth0|hsn0/ {print $2, $4}'"
    said = networked.srun("--nodes=1", "--nodelist=node2", "sh", "-c", line).stdout
    assert said == "eth0 10.77.0.102/24\nhsn0 10.77.1.102/24\n"


def test_one_port_is_free_on_every_node(networked: Bed) -> None:
    done = networked.srun("--nodes=3", PYTHON, "-c", LISTEN)
    assert done.stdout == "0.0.0.0 7777\n" * 3, done.stderr


def test_nodes_reach_each_other_by_name(networked: Bed) -> None:
    with networked.start(["srun", "--nodelist=node2", "--overlap", "--unbuffered", PYTHON, "-c", TAKE]) as taker:
        assert taker.stdout is not None
        assert taker.stdout.readline() == "listening\n"
        done = networked.srun("--nodelist=node3", PYTHON, "-c", REACH)
        assert (done.returncode, taker.communicate(timeout=60)[0]) == (0, "hello\n"), done.stderr


def test_a_cable_can_be_pulled(networked: Bed) -> None:
    ping = [PYTHON, "-c", "import socket; socket.create_connection(('node1-hsn0', 17001), 0.5)"]
    assert networked.run(ping, on="node3").returncode == 0
    networked.node("node1").link("hsn0", up=False)
    try:
        assert networked.run(ping, on="node3").returncode != 0
    finally:
        networked.node("node1").link("hsn0", up=True)


def test_pmix_over_two_nodes(networked: Bed) -> None:
    line = "echo $PMIX_RANK $(ls -d $PMIX_SERVER_TMPDIR | wc -l)"
    done = networked.srun("--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--mpi=pmix", "sh", "-c", line)
    assert sorted(done.stdout.splitlines()) == ["0 1", "1 1", "2 1", "3 1"], done.stderr


def test_mpi_types_are_listed(networked: Bed) -> None:
    done = networked.srun("--mpi=list")
    assert {"pmix", "pmi2", "none"} <= set((done.stdout + done.stderr).split())


def test_without_pyxis_its_options_are_unknown(networked: Bed) -> None:
    done = networked.srun("--container-image=/x.sqsh", "true")
    assert (done.returncode, "unrecognized option '--container-image=/x.sqsh'" in done.stderr) == (255, True)


ALL = os.cpu_count() or 1
COUNT = "grep Cpus_allowed_list /proc/self/status"


@pytest.mark.parametrize(
    ("job", "step", "cpus"),
    [
        (("--nodes=2",), ("--overlap", "--cpu-bind=none"), 1),
        (("--nodes=2", "--exclusive"), ("--overlap", "--cpu-bind=none"), ALL),
        (("--nodes=2", "--exclusive"), ("--exact",), 1),
        (("--nodes=2", "--ntasks-per-node=1", f"--cpus-per-task={ALL}"), ("--overlap", "--cpu-bind=none"), ALL),
    ],
)
def test_cpus_of_a_step(bound: Bed, job: Sequence[str], step: Sequence[str], cpus: int) -> None:
    words = f"srun {' '.join(step)} --nodes=2 --ntasks=2 --ntasks-per-node=1"
    line = "python3 -c 'import os; print(len(os.sched_getaffinity(0)))'"
    number = bound.submit(f"#!/bin/sh\n{words} {line}\n", *job)
    bound.wait(number)
    assert (bound.shared / f"job-{number}.out").read_text().split() == [str(cpus)] * 2
