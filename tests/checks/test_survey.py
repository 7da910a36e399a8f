"""A cluster file against what a site told: every rule fits, differs, and has nothing to say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import tomlkit

from launcher.checks.node import NODE, compared
from launcher.checks.survey import CODES, LOGIN, Entry, Subject, summary
from launcher.model import newcluster
from launcher.model.cluster import Cluster
from launcher.model.linking import Linking
from launcher.model.site import site
from launcher.model.survey import Credentials, Shape, Survey, Told, gpu, gpus
from launcher.text.document import dotted
from launcher.text.parse import parse
from tests.model.shelf import Shelf

PYXIS = ("container-image", "container-mount-home", "container-remap-root", "container-save", "container-entrypoint")
TOLD = Told(
    node="n1",
    arch="aarch64",
    python="3.11.2",
    pythons={"/usr/bin/python3.11": "3.11.2"},
    interfaces={"eth0": "10.0.0.1", "ib0": "10.1.0.1", "ib1": ""},
    programs={"enroot": "4.1.2", "nvidia-smi": "580.95.05, NVIDIA GB300"},
    plugstack=("required spank_pyxis.so use_squashfuse=1",),
    shared={"runs": True, "store.path": True},
    compressors=("gzip", "lzo", "lz4"),
)
SURVEY = Survey(
    slurm="24.11.5",
    options=(*PYXIS, "container-writable", "container-env", "container-entrypoint-log"),
    mpis=("none", "pmix"),
    shapes=(Shape("batch", True, 18, 144, 800000, "gpu:gb300:4(S:0-1)"), Shape("cpu", False, 2, 64, 256000, "")),
    accounts=("team",),
    settings={"KillWait": "30 sec", "TopologyPlugin": "topology/block"},
    told=TOLD,
)
FILE: Mapping[str, Any] = {"runtime": "pyxis", "arch": "aarch64", "python": "/usr/bin/python3"}


def entries(said: Mapping[str, Any], survey: Survey = SURVEY) -> tuple[Subject, list[Entry]]:
    """What is compared for a cluster file with these keys."""
    text = tomlkit.dumps({"schema": 1, "name": "c", **FILE, **said})
    found = site(Linking(Shelf({}, clusters={"c": [text]})), "c")
    assert found is not None
    subject = Subject(found, survey)
    return subject, compared(subject)


def at(key: str, said: Mapping[str, Any], survey: Survey = SURVEY) -> list[tuple[str, Any, str]]:
    """State, better value and message of a key's entries."""
    found = entries(said, survey)[1]
    return [
        (each.state, each.better, each.finding.message if each.finding else "")
        for each in found
        if dotted(each.key) == key
    ]


def told(**more: Any) -> Survey:
    return replace(SURVEY, told=replace(TOLD, **more))


@pytest.mark.parametrize(
    ("key", "said", "state", "better"),
    [
        ("versions.slurm", {}, "unsaid", "24.11.5"),
        ("versions.slurm", {"versions": {"slurm": "24.11"}}, "same", None),
        ("versions.slurm", {"versions": {"slurm": "24.11.4"}}, "differs", "24.11.5"),
        ("versions.slurm", {"versions": {"slurm": "x"}}, "differs", "24.11.5"),
        ("versions.pyxis", {}, "unsaid", "0.20.0"),
        ("versions.pyxis", {"versions": {"pyxis": "0.21.1"}}, "same", None),
        ("versions.pyxis", {"versions": {"pyxis": "0.24.0"}}, "differs", "0.20.0"),
        ("versions.pyxis", {"versions": {"pyxis": "0.16"}}, "differs", "0.20.0"),
        ("versions.enroot", {"versions": {"enroot": "3.5.0"}}, "differs", "4.1.2"),
        ("slurm.partition", {}, "noted", None),
        ("slurm.partition", {"slurm": {"partition": "cpu"}}, "same", None),
        ("slurm.partition", {"slurm": {"partition": "bacth"}}, "differs", None),
        ("slurm.account", {"slurm": {"account": "Team"}}, "same", None),
        ("slurm.account", {"slurm": {"account": "taem"}}, "differs", None),
        ("slurm.mpi", {}, "same", None),
        ("slurm.mpi", {"slurm": {"mpi": "pmi2"}}, "differs", "pmix"),
        ("slurm.kill_wait", {}, "unsaid", 30),
        ("slurm.kill_wait", {"slurm": {"kill_wait": 10}}, "same", None),
        ("slurm.kill_wait", {"slurm": {"kill_wait": 60}}, "differs", 30),
        ("topology.segment", {}, "unsaid", True),
        ("topology.segment", {"topology": {"segment": True}}, "same", None),
        ("node.gpus", {}, "unsaid", 4),
        ("node.gpus", {"node": {"gpus": 8}}, "differs", 4),
        ("node.gpus", {"node": {"gpus": 8, "gpu_request": "none"}}, "same", None),
        ("node.cpus", {"node": {"cpus": 288}}, "differs", 144),
        ("node.memory", {"node": {"memory": "700G"}}, "same", None),
        ("node.memory", {"node": {"memory": "900G"}}, "differs", "800000M"),
        ("node.gpu", {}, "unsaid", "gb300"),
        ("node.driver", {"node": {"driver": "580.95"}}, "same", None),
        ("node.driver", {"node": {"driver": "570.1"}}, "differs", "580.95.05"),
        ("arch", {"arch": "x86_64"}, "differs", "aarch64"),
        ("python", {}, "same", None),
        ("interface", {}, "noted", None),
        ("interface", {"interface": "ib0"}, "same", None),
        ("interface", {"interface": "ib1"}, "differs", None),
        ("interface", {"interface": "eth9"}, "differs", None),
        ("pyxis.squashfuse", {}, "unsaid", True),
        ("pyxis.squashfuse", {"pyxis": {"squashfuse": False}}, "differs", True),
        ("store.compressor", {}, "noted", None),
        ("store.compressor", {"store": {"path": "/s"}}, "differs", "lz4"),
        ("store.compressor", {"store": {"path": "/s", "compressor": "gzip"}}, "same", None),
        ("store.compressor", {"runtime": "apptainer", "store": {"path": "/s", "compressor": "xz"}}, "differs", "lz4"),
        ("store.compressor", {"store": {"path": "/s", "compressor": "xz"}}, "differs", "lz4"),
        ("runs", {"runs": "/r"}, "same", None),
        ("store.path", {"store": {"path": "/s"}}, "same", None),
    ],
)
def test_a_key(key: str, said: Mapping[str, Any], state: str, better: Any) -> None:
    ((found, value, message),) = at(key, said)
    assert (found, value) == (state, better)
    assert bool(message) == (state == "differs")


@pytest.mark.parametrize(
    ("runtime", "path", "compressor", "more", "unread"),
    [
        ("pyxis", "/i/x.sqsh", "lzo", {}, False),
        ("pyxis", "/i/x.sqsh", "zstd", {"kernel": ("zstd",)}, True),
        ("pyxis", "/i/x.sqsh", "zstd", {"compressors": ()}, False),
        ("apptainer", "/i/x.sif", "zstd", {}, True),
        ("apptainer", "/i/x.sif", "zstd", {"kernel": ("gzip", "zstd")}, False),
        ("apptainer", "/i/x.sif", "xz", {"kernel": ("gzip",)}, True),
        ("none", "/i/x.sif", "xz", {}, False),
    ],
)
def test_a_compressor_that_nodes_do_not_read(
    *, runtime: str, path: str, compressor: str, more: Mapping[str, Any], unread: bool
) -> None:
    survey = replace(told(**more), images={path: compressor})
    found = at("images.x", {"runtime": runtime, "images": {"x": path}}, survey)
    message = f"`{path}` is compressed by {compressor}, which n1 does not read"
    assert found == ([("differs", None, message)] if unread else [])


@pytest.mark.parametrize(
    ("key", "said", "survey", "message"),
    [
        ("runtime", {}, replace(SURVEY, options=("mem",)),
         "`srun` has no option `--container-image`: pyxis is not set up here"),
        ("runtime", {"runtime": "apptainer"}, SURVEY, "there is no program `apptainer` on n1"),
        ("python", {}, told(python="3.6.8"),
         "`/usr/bin/python3` is 3.6.8 on n1, and the supervisor wants 3.9 or newer"),
        ("python", {}, told(python=""),
         "`/usr/bin/python3` cannot be run on n1, and the supervisor wants 3.9 or newer"),
        ("runs", {"runs": "/r"}, told(shared={"runs": False}), "`/r` is not the same folder on n1 as here"),
        ("runs", {"runs": "/r"}, told(closed=("runs",)), "`/r` cannot be written to on n1"),
        ("node.local", {"runs": "/r", "node": {"local": "/l"}}, told(closed=("node.local",)),
         "`/l` cannot be written to on n1"),
        ("store.path", {"store": {"path": "/s"}}, told(shared={"store.path": False}),
         "`/s` is not the same folder on n1 as here"),
        ("store.path", {"store": {"path": "/s"}}, told(closed=("store.path",)), "`/s` cannot be written to on n1"),
        ("images.a", {"images": {"a": "/i.sqsh"}}, told(missing=("/i.sqsh",)), "`/i.sqsh` does not exist on n1"),
        ("models.q", {"models": {"q": "/m"}}, told(missing=("/m",)), "`/m` does not exist on n1"),
        ("topology.segment", {"topology": {"segment": True}}, replace(SURVEY, slurm="23.11.1"),
         "`topology.segment` is `true` in the file, and `topology/block` here"),
    ],
)  # fmt: skip
def test_what_differs_is_said(key: str, said: Mapping[str, Any], survey: Survey, message: str) -> None:
    assert message in [text for _, _, text in at(key, said, survey)]
    subject, found = entries(said, survey)
    for finding in summary(subject, found):
        assert finding.code in CODES
        assert finding.severity == "warning" or finding.exit == 3


def test_nodes_that_differ_are_not_written_down() -> None:
    shapes = (*SURVEY.shapes, Shape("batch", True, 1, 72, 400000, "gpu:h200:8"))
    survey = replace(SURVEY, shapes=shapes)
    assert [better for _, better, _ in at("node.gpus", {}, survey) + at("node.cpus", {}, survey)] == [None, None]
    assert at("node.cpus", {"node": {"cpus": 144}}, survey)[0][0] == "same"


def test_a_site_that_tells_nothing_is_no_fault() -> None:
    subject, found = entries({"interface": "ib0", "slurm": {"account": "x"}}, Survey(silence="no node was free"))
    assert [each for each in found if each.finding] == []
    assert [(each.code, each.message) for each in summary(subject, found)] == [
        ("site-unanswered", "no compute node could be asked: no node was free")
    ]


def test_credentials_that_others_can_read() -> None:
    survey = told(credentials=(Credentials("/h/.credentials", ("nvcr.io",), exposed=True),))
    subject, found = entries(
        {"images": {"a": "nvcr.io/x/y:1", "b": "ubuntu:22.04", "c": "/x.sqsh", "d": "://"}}, survey
    )
    assert [(each.said, each.here) for each in found if each.key == ("images",)] == [
        ("nvcr.io", "with credentials"),
        ("docker.io", "without credentials"),
    ]
    assert "credentials-exposed" in [each.code for each in summary(subject, found)]


@pytest.mark.parametrize(
    ("gres", "count", "name"),
    [
        ("", 0, ""),
        ("gpu:8", 8, ""),
        ("gpu", 1, ""),
        ("gpu:gb300:4(S:0-1)", 4, "gb300"),
        ("gpu:a100:4,gpu:h100:2", 4, ""),
        ("shard:8,gpu:h100:8(S:0-1),tmp:1", 8, "h100"),
        ("nogpu:4", 0, ""),
    ],
)
def test_gres(gres: str, count: int, name: str) -> None:
    assert (gpus(gres), gpu(gres)) == (count, name)


@pytest.mark.parametrize("survey", [Survey(), SURVEY, told(programs={"apptainer": "apptainer version 1.4.5"})])
def test_a_new_file_can_be_read_whatever_was_told(survey: Survey) -> None:
    linking = Linking(Shelf({}))
    made = linking.read(Cluster, parse("new", newcluster.text("site-1", survey)))
    assert linking.findings == []
    assert made is not None
    assert made.runtime == ("pyxis" if survey.options else "none")


def test_apptainer_where_there_is_no_pyxis() -> None:
    survey = replace(told(programs={"apptainer": "apptainer version 1.4.5"}), options=("mem",))
    assert newcluster.runtime(survey) == "apptainer"
    assert at("versions.apptainer", {"runtime": "apptainer"}, survey) == [("unsaid", "1.4.5", "")]


def test_every_rule_is_tried() -> None:
    assert len({rule.__name__ for rule in (*LOGIN, *NODE)}) == len(LOGIN) + len(NODE)
