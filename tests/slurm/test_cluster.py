"""`launch cluster doctor` and `init` on a real Slurm: what the site is, and the file that says so."""

import json
import os
import shutil
import sys
import tomllib

import pytest

from tests.slurm.deployment import CLUSTER, Site
from tests.testbed.bed import Bed


@pytest.fixture
def site(bed: Bed) -> Site:
    return Site(bed, CLUSTER.replace('runtime = "none"', 'runtime = "pyxis"').replace('interface = "hsn0"\n', ""))


def states(said: str) -> dict[str, tuple[str | None, str, str]]:
    """Key → what the file says, what is here, and how that is."""
    told = json.loads(said)
    return {each["key"]: (each["file"], each["here"], each["state"]) for each in told["entries"]}


def test_a_site_is_told_key_by_key(site: Site) -> None:
    done = site.launch("cluster", "doctor", str(site.file), "--json")
    found = states(done.stdout)
    version = ".".join(map(str, sys.version_info[:3]))
    assert found["versions.slurm"] == (None, ".".join(site.bed.ask("sinfo", "--version").split()[1:]), "unsaid")
    assert found["versions.pyxis"] == (None, "0.24 or newer", "unsaid")
    assert found["versions.enroot"] == (None, "4.1.2", "unsaid")
    assert found["slurm.partition"] == (None, "batch (Slurm's default)", "noted")
    assert found["slurm.kill_wait"] == ("5", "5", "same")
    assert "pmix" in found["slurm.mpi"][1] and found["slurm.mpi"][2] == "same"
    assert found["node.gpus"] == ("8", "8", "same")
    assert found["node.cpus"] == ("32", "32", "same")
    assert found["node.memory"] == ("60000M", "64000M", "same")
    assert found["python"] == (sys.executable, f"{version} on node1", "same")
    assert found["arch"][1] == os.uname().machine
    assert found["runs"][1:] == ("shared with node1", "same")
    assert found["store.compressor"][0] is None
    assert {"zstd", "lz4", "gzip", "lzo", "xz"} <= set(found["store.compressor"][1].split(", "))
    assert not list((site.folder / "alice").glob("**/.launch-doctor-*"))
    assert "cluster-incomplete" in done.stderr


def test_what_differs_is_corrected_where_the_site_tells(site: Site) -> None:
    text = (
        site.file.read_text().replace("kill_wait = 5", "kill_wait = 60   # seconds").replace("cpus = 32", "cpus = 64")
    )
    site.file.write_text(f"# mine\n{text}".replace("[slurm]\n", '[slurm]\npartition = "bach"\n'))
    done = site.launch("cluster", "doctor", str(site.file), "--write", status=3)
    assert "there is no partition `bach`" in done.stderr
    assert "did you mean `batch`?" in done.stderr
    assert "wrote " in done.stderr
    after = site.file.read_text()
    assert after.startswith("# mine\n")
    assert "kill_wait = 5   # seconds\n" in after
    data = tomllib.loads(after)
    assert data["slurm"]["partition"] == "bach"
    assert (data["node"]["cpus"], data["versions"]["pyxis"], data["arch"]) == (32, "0.24.0", os.uname().machine)
    site.file.write_text(after.replace("bach", "batch"))
    done = site.launch("cluster", "doctor", str(site.file), "--write")
    assert "nothing to write" in done.stderr
    assert "is as its site is" in done.stderr


def test_what_only_a_node_knows_is_said_to_be_wrong(site: Site) -> None:
    text = site.file.read_text().replace(sys.executable, "/opt/no/python")
    text = text.replace("[slurm]", 'interface = "ib9"\n[store]\npath = "/tmp/store"\n[slurm]').replace(
        str(site.folder), "/tmp/apart", 1
    )
    site.file.write_text(
        text + 'sim = "/nope/sim.sqsh"\n[models]\nqwen = "/nope/qwen"\n[[mounts]]\nsource = "/nope/m"\ntarget = "/m"\n'
    )
    done = site.launch("cluster", "doctor", str(site.file), status=3)
    for said in (
        "`/opt/no/python` cannot be run on node1",
        "interface `ib9` does not exist on node1",
        "`/nope/sim.sqsh` does not exist on node1",
        "`/nope/qwen` does not exist on node1",
        "`/nope/m` does not exist on node1",
        "`/tmp/apart/$USER/runs` is not the same folder on node1 as here",
        "`/tmp/store` is not the same folder on node1 as here",
    ):
        assert said in done.stderr
    assert f"{site.file}:" in done.stderr


def test_credentials_are_named_by_their_hosts_alone(site: Site, request: pytest.FixtureRequest) -> None:
    folder = site.bed.root / "home/alice/.config/enroot"
    folder.mkdir(parents=True)
    request.addfinalizer(lambda: shutil.rmtree(folder))
    secret = "s3cr3t-nobody-may-see"
    (folder / ".credentials").write_text(f"machine nvcr.io login $oauthtoken password {secret}\n")
    text = site.file.read_text().replace("[images]", '[images]\nvllm = "nvcr.io/nvidia/vllm:1"\nsim = "python:3.12"')
    site.file.write_text(text)
    done = site.launch("cluster", "doctor", str(site.file))
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "images nvcr.io with credentials -" in lines
    assert "images docker.io without credentials -" in lines
    assert "others can read" in done.stderr
    assert secret not in done.stdout + done.stderr


def test_a_busy_site_is_told_without_its_nodes(site: Site) -> None:
    blocker = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=4", "--exclusive", user="user")
    site.bed.wait(blocker, "RUNNING")
    done = site.launch("cluster", "doctor", str(site.file), "--timeout", "1s")
    assert "no compute node could be asked" in done.stderr
    assert "Requested nodes are busy" in done.stderr
    assert "versions.slurm" in done.stdout


def test_inside_an_allocation_its_nodes_are_asked(site: Site) -> None:
    job = site.bed.submit("#!/bin/sh\nsleep 600\n", "--nodes=4", "--exclusive")
    site.bed.wait(job, "RUNNING")
    done = site.launch("cluster", "doctor", str(site.file), env={"SLURM_JOB_ID": str(job)})
    assert "on node1" in done.stdout


def test_a_cluster_file_is_begun_from_what_the_site_tells(site: Site) -> None:
    path = site.folder / "fresh.toml"
    site.folder.chmod(0o777)
    done = site.launch("cluster", "init", str(path))
    assert done.stdout.strip() == str(path)
    data = tomllib.loads(path.read_text())
    assert (data["name"], data["runtime"], data["arch"]) == ("fresh", "pyxis", os.uname().machine)
    assert data["node"] == {"gpus": 8, "cpus": 32, "memory": "64000M"}
    assert data["slurm"] == {"kill_wait": 5}
    assert data["versions"]["enroot"] == "4.1.2"
    assert "batch (default), short" in path.read_text()
    assert "is there already" in site.launch("cluster", "init", str(path), status=1).stderr
    assert site.launch("cluster", "doctor", str(path)).stderr.strip() == "`fresh` is as its site is"
