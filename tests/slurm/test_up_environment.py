"""What reaches a role in a container through `launch up`: values to the byte, and secrets nowhere else."""

import json
import os
from pathlib import Path

import pytest

from tests.slurm import containers
from tests.slurm.containers import AGGREGATE, over
from tests.slurm.deployment import Deployed, Site
from tests.testbed.bed import Bed

ODD = "a,b 'c' \"d\" $HOME `id` \\ {x} ü\t*"
LINES = "one\nHOME=/evil\nLEAK=1\n\n"
SECRET = "s3cr3t-0123456789, \"'$HOME `id` \\{ü"
KEY = "-----BEGIN-----\nHOME=/evil\nLEAK=2\n=\n"
RECIPE = AGGREGATE.replace('manifest = "sim"\n', 'manifest = "sim"\nenv_from = ["TOKEN", "KEY", "COMMON"]\n')
RECIPE += f"""
[roles.worker.env]
ODD = {json.dumps(ODD)}
LINES = {json.dumps(LINES)}
BOTH = {json.dumps("mine" + LINES)}
EMPTY = ""
LANG = "de_DE.UTF-8"
"""
GIVEN = ("TOKEN", "KEY", "COMMON")
SHELL = {"TOKEN": SECRET, "KEY": KEY, "COMMON": f"{SECRET}\nwins", "MY_OTHER": "stays-at-home"}


HOSTILE = {
    "PYXIS_CONTAINER_IMAGE": "/nope.sqsh",
    "PYXIS_CONTAINER_NAME": "of-the-shell",
    "PYXIS_CONTAINER_MOUNTS": "/nope:/nope",
    "PYXIS_CONTAINER_WORKDIR": "/nope",
    "PYXIS_CONTAINER_REMAP_ROOT": "1",
    "PYXIS_CONTAINER_SAVE": "/tmp/saved.sqsh",
    "ENROOT_LOGIN_SHELL": "n",
    "ENROOT_REMAP_ROOT": "y",
    "APPTAINER_BIND": "/nope",
    "APPTAINERENV_TOKEN": "of the shell",
    "SLURM_NTASKS": "7",
    "SLURM_EXPORT_ENV": "NONE",
    "SLURM_EXCLUSIVE": "user",
    "SRUN_CPUS_PER_TASK": "99",
    "SBATCH_PARTITION": "nosuch",
    "SALLOC_PARTITION": "nosuch",
    "LD_LIBRARY_PATH": "/of/the/host",
    "LC_ALL": "C",
}
"""What a shell may have exported: each of these would change the job or its steps (rules of pyxis and Slurm)."""


@pytest.fixture(params=["pyxis", "apptainer"])
def site(contained: Bed, request: pytest.FixtureRequest) -> Site:
    return containers.site(contained, request.param)


def environment(run: Deployed, child: str) -> dict[str, str]:
    """What the program of a step was started with."""
    entries = Path(f"/proc/{run.task(child)}/environ").read_bytes().split(b"\0")
    return dict(os.fsdecode(entry).split("=", 1) for entry in entries if b"=" in entry)


def test_values_arrive_to_the_byte_and_secrets_stand_nowhere(site: Site) -> None:
    pyxis = 'runtime = "pyxis"' in site.file.read_text()
    site.launch("up", site.recipe(RECIPE), "--wait", env={**HOSTILE, **SHELL})
    run = site.last()
    found = environment(run, "worker-0")
    assert {name: found[name] for name in ("ODD", "LINES", "EMPTY")} == {"ODD": ODD, "LINES": LINES, "EMPTY": ""}
    # The image has values of its own for COMMON and BOTH.
    assert {name: found[name] for name in GIVEN} == {name: SHELL[name] for name in GIVEN}
    assert found["BOTH"] == f"mine{LINES}"
    assert not {"LEAK", "MY_OTHER", "LC_ALL"} & found.keys()
    assert found.get("LD_LIBRARY_PATH") in (None, "/.singularity.d/libs")
    assert (found["LANG"], found.get("SLURM_NTASKS")) == ("de_DE.UTF-8", "1" if pyxis else None)
    # Its root is read-only.
    assert found["HOME"] == "/launch/home/worker-0"
    assert (run.path / "home" / "worker-0").stat().st_uid == run.path.stat().st_uid
    assert not [name for name in found if name.startswith(("LAUNCH__", "PYXIS_", "SBATCH_"))]
    if pyxis:
        assert found["KEPT"] == "from-image"
    nowhere(run, SECRET, KEY)
    over(run)
    nowhere(run, SECRET, KEY)


ALONE = """\
schema = 1
name = "alone"

[model]
served_name = "tiny"

[roles.worker]
manifest = "sim"
gpus = 8
env = { LC_NUMERIC = "of-the-role" }
"""


def test_what_a_cluster_lets_through_comes_along(site: Site) -> None:
    site.file.write_text(f'inherit = ["LC_*", "LANG", "MY_SITE"]\n{site.file.read_text()}')
    shell = {"LC_ALL": "C.UTF-8", "LC_TIME": ODD, "LC_NUMERIC": "of-the-shell", "LANG": "C.UTF-8", "MY_SITE": "x,y"}
    site.launch("up", site.recipe(ALONE), "--wait", env={**shell, "LANGUAGE": "de", "MY_OTHER": "stays-at-home"})
    run = site.last()
    found = environment(run, "worker-0")
    assert {name: found.get(name) for name in shell} == {**shell, "LC_NUMERIC": "of-the-role"}
    assert not {"LANGUAGE", "MY_OTHER"} & found.keys()
    over(run)


NAMED = "a,b 'c' \"d\" $HOME `id` \\ {x} %s ü *"
SPOKEN = f"{NAMED}\n\t{{{{ messages }}}}\n"


def test_words_arrive_to_the_byte(site: Site) -> None:
    flags = {"chat-template": SPOKEN, "tensor-parallel-size": 8}
    words = ", ".join(f"{name} = {json.dumps(value)}" for name, value in flags.items())
    engine = ALONE.replace('"tiny"', f'{json.dumps(NAMED)}\npath = "{site.folder}"')
    engine = engine.replace('"sim"', '"vllm"\nimage = "sim"')
    site.launch("up", site.recipe(f"{engine}flags = {{ {words} }}\n"), "--wait", "--simulate")
    run = site.last()
    said = [os.fsdecode(word) for word in Path(f"/proc/{run.task('worker-0')}/cmdline").read_bytes().split(b"\0")]
    assert f"--served-model-name={NAMED}" in said
    assert f"--chat-template={SPOKEN}" in said
    listed = json.loads(run.fetch(f"{run.heard('begin')['url']}/v1/models"))["data"]
    assert [each["id"] for each in listed] == [NAMED]
    over(run)


def nowhere(run: Deployed, *secrets: str) -> None:
    """No file of the run, no argument of a process and nothing that Slurm tells has a secret."""
    parts = [part.encode() for secret in secrets for part in (secret, json.dumps(secret)[1:-1])]
    for path in (path for path in [*run.path.rglob("*"), *run.site.folder.glob("*.toml")] if path.is_file()):
        assert not [part for part in parts if part in path.read_bytes()], path
    shown = [" ".join(words) for words in run.site.bed.processes().values()]
    shown.append(run.site.bed.ask("scontrol", "show", "job", run.job))
    shown += [run.site.launch(*words).stdout for words in (("logs", run.name), ("ps", "--all", "--json"))]
    assert not [text for text in shown for part in parts if part.decode() in text]
