"""Sites set up in other ways: what plugstack.conf and enroot's hooks change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed import image, plugin
from tests.testbed.bed import Bed, until
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started


@pytest.fixture(scope="module")
def narrow() -> Iterator[Bed]:
    """Two nodes whose pyxis takes no options of sbatch, and whose named roots end with their job."""
    layout = Layout(nodes=2, gpus=0, pyxis=("container_scope=job", "sbatch_support=0"))
    with started(layout, plugin.plugin(), {"enroot": plugin.ENROOT}) as running:
        yield running


@pytest.fixture(scope="module")
def tiny() -> str:
    return f"--container-image={image.squashfs(image.TINY)}"


def test_sbatch_takes_no_container(narrow: Bed, tiny: str) -> None:
    done = narrow.run(["sbatch", tiny, "--wrap=true"])
    assert (done.returncode, "sbatch: unrecognized option '--container-image=" in done.stderr) == (255, True)


def test_a_root_of_a_job_is_joined_by_its_plain_name_and_ends_with_it(narrow: Bed, tiny: str) -> None:
    step = "srun --overlap --nodes=1 --ntasks=1"
    job = narrow.submit(
        f"#!/bin/sh\n{step} {tiny} --container-name=mine true\n"
        f"{step} --container-name=mine:no_exec sh -c 'echo $COMMON'\n{step} enroot list\n"
    )
    assert narrow.wait(job) == "COMPLETED"
    narrow.settled()
    assert (narrow.shared / f"job-{job}.out").read_text().splitlines() == ["from-image", f"pyxis_{job}_mine"]
    assert narrow.srun("--nodelist=node1,node2", "enroot", "list").stdout == ""


def test_pmix_s_folder_is_in_the_container_only_with_the_hook(narrow: Bed, tiny: str) -> None:
    line = "echo $PMIX_RANK $(ls -d $PMIX_SERVER_TMPDIR 2>/dev/null | wc -l)"
    words = ["--nodes=2", "--ntasks=2", "--mpi=pmix", tiny, "sh", "-c", line]
    assert sorted(narrow.srun(*words).stdout.splitlines()) == ["0 0", "1 0"]
    hook = narrow.shared / "enroot/hooks.d/50-slurm-pmi.sh"
    hook.parent.mkdir(parents=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    brought = narrow.srun(*words, env={"ENROOT_CONFIG_PATH": str(hook.parents[1])})
    assert sorted(brought.stdout.splitlines()) == ["0 1", "1 1"], brought.stderr


def test_a_broken_plugin_on_the_nodes_drains_them_and_srun_ends_well(narrow: Bed) -> None:
    conf = narrow.root / "etc/plugstack.conf"
    kept = conf.read_text()
    job = narrow.submit("#!/bin/sh\nexec sleep 600\n", "--nodes=1", "--nodelist=node1")
    until(lambda: ["sleep", "600"] in narrow.processes("alice").values() or None)
    narrow.node("node1").call(["mount", "--bind", "/dev/null", str(Path(conf.read_text().split()[1]))])
    try:
        done = narrow.run(["srun", f"--jobid={job}", "--overlap", "--input=none", "true"])
        assert (done.returncode, "Plugin initialization failed" in done.stderr) == (0, True), done.stderr
    finally:
        narrow.node("node1").call(["umount", kept.split()[1]])
    narrow.clear()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """One node whose registry is a folder: REGISTRY/IMAGE/TAG.sqsh."""
    folder = plugin.registry({"reg.invalid/team/tiny:1.0": image.squashfs(image.TINY)})
    with started(Layout(nodes=1, gpus=0, pyxis=(f"registry={folder}",)), plugin.plugin()) as running:
        yield running


@pytest.mark.parametrize(
    "reference", ["reg.invalid#team/tiny:1.0", "docker://reg.invalid#team/tiny:1.0", "reg.invalid/team/tiny:1.0"]
)
def test_references_are_imported(registry: Bed, reference: str) -> None:
    done = registry.srun(f"--container-image={reference}", "sh", "-c", "echo $COMMON")
    assert (done.returncode, done.stdout) == (0, "from-image\n"), done.stderr
    assert f"pyxis: imported docker image: {reference}" in done.stderr


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (
            "reg.invalid#team/tiny:2.0",
            "[ERROR] URL https://reg.invalid/v2/team/tiny/manifests/2.0 returned error code: 404",
        ),
        (
            "reg.invalid#team/tiny",
            "[ERROR] URL https://reg.invalid/v2/team/tiny/manifests/latest returned error code: 404",
        ),
        ("other.invalid#team/tiny:1.0", "Could not resolve host: other.invalid"),
        ("team/tiny:1.0", "Could not resolve host: registry-1.docker.io"),
    ],
)
def test_references_that_are_nowhere(registry: Bed, reference: str, text: str) -> None:
    done = registry.srun(f"--container-image={reference}", "true")
    assert (done.returncode, text in done.stderr) == (1, True), done.stderr
    assert f"pyxis: failed to import docker image: {reference}" in done.stderr
