"""Testbeds for the tests of this folder; one of a kind for each process that runs tests."""

import os
from collections.abc import Iterator

import pytest

from tests.testbed import apptainer, plugin, site
from tests.testbed.bed import Bed
from tests.testbed.layout import Layout
from tests.testbed.site import Site
from tests.testbed.slurm import bed as started


@pytest.fixture(scope="session")
def shared_bed() -> Iterator[Bed]:
    """Four nodes of eight GPUs on one loopback, with the stand-in for pyxis."""
    with started(Layout(), plugin.plugin(), {"enroot": plugin.ENROOT}) as running:
        yield running


@pytest.fixture
def bed(shared_bed: Bed) -> Iterator[Bed]:
    """The same, without a job before and after."""
    yield shared_bed
    shared_bed.clear()


@pytest.fixture(scope="session")
def shared_networked() -> Iterator[Bed]:
    """Three nodes with addresses of their own in two networks."""
    with started(Layout(nodes=3, networks=("eth0", "hsn0"))) as running:
        yield running


@pytest.fixture
def networked(shared_networked: Bed) -> Iterator[Bed]:
    """The same, without a job before and after."""
    yield shared_networked
    shared_networked.clear()


@pytest.fixture(scope="session")
def shared_bound() -> Iterator[Bed]:
    """Two nodes with task/affinity, of as many CPUs as this machine has."""
    with started(Layout(nodes=2, cpus=os.cpu_count() or 1, affinity=True)) as running:
        yield running


@pytest.fixture
def bound(shared_bound: Bed) -> Iterator[Bed]:
    """The same, without a job before and after."""
    yield shared_bound
    shared_bound.clear()


@pytest.fixture(scope="session")
def shared_contained() -> Iterator[Bed]:
    """Three nodes in two networks whose steps are bound to CPUs, with the stand-in for pyxis and Apptainer."""
    programs = {"enroot": plugin.ENROOT, "apptainer": apptainer.apptainer()}
    layout = Layout(nodes=3, cpus=os.cpu_count() or 1, affinity=True, networks=("eth0", "hsn0"), pyxis=("pmi_hook=1",))
    with started(layout, plugin.plugin(), programs) as running:
        yield running


@pytest.fixture
def contained(shared_contained: Bed) -> Iterator[Bed]:
    """The same, without a job before and after."""
    yield shared_contained
    shared_contained.clear()


@pytest.fixture(scope="module", params=["stand-in", pytest.param("real", marks=pytest.mark.site)])
def pyxis(request: pytest.FixtureRequest) -> Iterator[Site]:
    """An allocation where pyxis's rules hold: on the testbed, and with `-m site` on the cluster at hand."""
    if request.param == "real":
        yield from site.of_cluster()
    else:
        yield from site.of_bed(request.getfixturevalue("shared_bed"))
