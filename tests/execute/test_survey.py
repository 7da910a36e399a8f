"""A site that is asked what it is; Slurm is a table of answers here, the program of the node is the real one."""

import ast
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.inside import node
from launcher.execute.slurm.survey import login, paths, survey
from launcher.execute.world import Ran, Real, Recording
from launcher.model.cluster import Cluster
from launcher.model.survey import Shape, told
from launcher.text.diagnostic import Refused

SINFO = Ran(0, "batch*|2|32|64000|gpu:8\nold|1|16|32000|(null)\nbad|n/a|x\n")
ANSWERS: Mapping[tuple[str, ...], Ran] = {
    ("sinfo", "--version"): Ran(0, "slurm 24.11.5\n"),
    ("sinfo", "--exact"): SINFO,
    ("srun", "--help"): Ran(0, "      --container-image=X  [pyxis] x\n"),
    ("srun", "--mpi=list"): Ran(0, "MPI plugin types are...\n\tpmix\n"),
    ("scontrol",): Ran(0, "Configuration data as of now\nKillWait                = 30 sec\nPowerPlugin = \n"),
    ("sacctmgr",): Ran(1, "", "You are not running a supported accounting_storage plugin\n"),
}
ORDER: dict[str, Any] = {"python": sys.executable, "paths": [], "folders": {}, "plugstack": "", "markers": {}}


def cluster(**more: Any) -> Cluster:
    return Cluster.model_validate({"schema": 1, "name": "c", **more})


def test_slurm_tells_what_it_is() -> None:
    found = login(Recording({}, ANSWERS))
    assert (found.slurm, found.options, found.mpis, found.accounts) == (
        "24.11.5",
        ("container-image",),
        ("pmix",),
        None,
    )
    assert found.shapes == (Shape("batch", True, 2, 32, 64000, "gpu:8"), Shape("old", False, 1, 16, 32000, ""))
    assert found.settings == {"KillWait": "30 sec", "PowerPlugin": ""}


@pytest.mark.parametrize(
    ("ran", "advice"),
    [
        (Ran(1, "", "slurm_load_partitions: Unable to contact slurm controller (connect failure)"), "scontrol ping"),
        (Ran(1, "", "sinfo: fatal: Could not establish a configuration source"), "SLURM_CONF"),
    ],
)
def test_a_slurm_that_does_not_answer_is_absent(ran: Ran, advice: str) -> None:
    with pytest.raises(Refused) as raised:
        login(Recording({}, {**ANSWERS, ("sinfo", "--exact"): ran}))
    (finding,) = raised.value.diagnostics
    assert (finding.code, finding.exit) == ("slurm-absent", 5)
    assert advice in (finding.help or "")


@pytest.mark.parametrize(
    ("environ", "more", "words"),
    [
        ({}, {}, ["--immediate=30", "--time=2", "--job-name=launch-doctor"]),
        (
            {},
            {"slurm": {"partition": "old", "account": "a", "qos": "q"}},
            ["--immediate=30", "--time=2", "--job-name=launch-doctor", "--partition=old", "--account=a", "--qos=q"],
        ),
        ({}, {"slurm": {"partition": "none"}}, ["--immediate=30", "--time=2", "--job-name=launch-doctor"]),
        ({"SLURM_JOB_ID": "7"}, {"slurm": {"partition": "p"}}, ["--jobid=7", "--overlap"]),
    ],
)
def test_how_a_node_is_asked(environ: dict[str, str], more: dict[str, Any], words: list[str]) -> None:
    world = Recording({**environ, "SLURM_NTASKS": "9"}, ANSWERS)
    found = survey(world, cluster(**more))
    assert found.told is None
    assert "no such program" in found.silence
    (asked,) = [call for call in world.calls if call[0] == "run" and call[1][:1] == ("srun",) and "sh" in call[1]]
    argv = list(asked[1])
    assert argv[1 : argv.index("--nodes=1")] == words
    assert "SLURM_NTASKS" not in asked[2]


@pytest.mark.parametrize(
    ("ran", "silence"),
    [
        (Ran(1, "", "srun: error: Unable to allocate resources: Requested nodes are busy\n"), "nodes are busy"),
        (Ran(0, "prolog says hello\n", ""), "said nothing"),
        (Ran(0, '{"node": 1}\n', ""), "said nothing"),
    ],
)
def test_why_a_node_did_not_answer(ran: Ran, silence: str) -> None:
    found = survey(Recording({}, {**ANSWERS, ("srun", "--immediate=30"): ran}), cluster())
    assert found.told is None
    assert silence in found.silence


def test_what_a_site_prints_before_the_answer_is_left_out() -> None:
    answer = json.dumps(node.look(ORDER))
    found = survey(Recording({}, {**ANSWERS, ("srun", "--immediate=30"): Ran(0, f"hello\n{answer}\n")}), cluster())
    assert found.told is not None
    assert found.told.arch == os.uname().machine


def test_this_machine_is_asked_without_slurm(tmp_path: Path) -> None:
    found = survey(
        Real({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}), cluster(scheduler="local", python=sys.executable)
    )
    assert found.told is not None
    assert found.told.python == ".".join(map(str, sys.version_info[:3]))


def test_paths_of_a_cluster_file() -> None:
    more = {
        "images": {"a": "/i.sqsh", "b": "ubuntu:22.04", "c": {"reference": "file:///j.sqsh"}, "d": "bad ref"},
        "models": {"m": "/m", "n": "relative"},
        "mounts": [{"source": "/s", "target": "/t"}, {"source": "tmpfs", "target": "/u"}],
    }
    assert list(paths(cluster(**more))) == ["/i.sqsh", "/j.sqsh", "/m", "/s"]


def test_the_program_looks_at_the_node(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    conf = tmp_path / "plugstack.conf"
    conf.write_text("# pyxis here\n\ninclude conf.d/*.conf\n")
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d/a.conf").write_text(f"required  /x/spank_pyxis.so use_squashfuse=1\ninclude {conf}\n")
    order = {
        **ORDER,
        "paths": [str(tmp_path / "there"), str(tmp_path / "gone")],
        "folders": {"runs": str(tmp_path / "a/b"), "node.local": "/proc/x"},
        "plugstack": str(conf),
        "markers": {"runs": str(tmp_path / "there"), "store.path": str(tmp_path / "gone")},
    }
    answer = told(node.look(order))
    assert answer.missing == (str(tmp_path / "gone"),)
    assert answer.closed == (() if os.access("/proc", os.W_OK) else ("node.local",))
    assert set(answer.plugstack) == {"required /x/spank_pyxis.so use_squashfuse=1"}
    assert answer.shared == {"runs": True, "store.path": False}
    assert sys.executable in answer.pythons or answer.pythons


def test_credentials_are_read_for_hosts_alone(tmp_path: Path) -> None:
    for name, text in (
        (
            ".config/enroot/.credentials",
            "machine nvcr.io login $oauthtoken password pw1\n machine auth.docker.io login a password $(x)\n",
        ),
        (".apptainer/docker-config.json", '{"auths": {"https://ghcr.io/v1": {"auth": "cHcy"}, "quay.io": {}}}'),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o600)
    words = [sys.executable, "-I", node.__file__, json.dumps(ORDER)]
    done = subprocess.run(
        words, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    assert "pw1" not in done.stdout and "cHcy" not in done.stdout
    found = {Path(each.file).name: each for each in told(json.loads(done.stdout)).credentials}
    assert found[".credentials"].hosts == ("auth.docker.io", "nvcr.io")
    assert found["docker-config.json"].hosts == ("ghcr.io", "quay.io")
    assert not any(each.exposed for each in found.values())


@pytest.mark.parametrize("text", ["[]", "{", '{"auths": 3}', '{"auths": null}'])
def test_credentials_that_are_none(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".apptainer/docker-config.json"
    path.parent.mkdir()
    path.write_text(text)
    assert [each["hosts"] for each in node.credentials()] == [[]]


def test_the_program_runs_on_the_oldest_python_a_node_may_have() -> None:
    ast.parse(Path(node.__file__).read_text(), feature_version=(3, 6))


def test_what_the_kernel_mounts(tmp_path: Path) -> None:
    text = "CONFIG_SQUASHFS=m\nCONFIG_SQUASHFS_ZLIB=y\n# CONFIG_SQUASHFS_LZ4 is not set\nCONFIG_SQUASHFS_ZSTD=y\n"
    (tmp_path / "config").write_text(text)
    (tmp_path / "config.gz").write_bytes(gzip.compress(text.encode()))
    for names in (["none", "config"], ["config.gz", "config"]):
        assert node.kernel([str(tmp_path / name) for name in names]) == ["gzip", "zstd"]
    assert node.kernel([str(tmp_path / "none"), str(tmp_path)]) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        # squashfs-tools 4.4 of RHEL 8 on standard error, 4.5.1 of Debian between other sections; none at all.
        ("UNSQUASHFS: [options]\n\nDecompressors available:\n\tgzip\n\tlzo\n\txz\n", ["gzip", "lzo", "xz"]),
        ("Decompressors available:\n\tgzip\n\tzstd (v1)\n\nExit status:\n  0\n", ["gzip", "zstd"]),
        ("usage: unsquashfs\n", []),
    ],
)
def test_what_image_files_may_be_compressed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, found: list[str]
) -> None:
    program = tmp_path / "unsquashfs"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}END\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert node.compressors() == found
    monkeypatch.setenv("PATH", "/nonexistent")
    assert node.compressors() == []
