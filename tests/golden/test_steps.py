"""The words of every step of every recipe, on every cluster with Slurm: rules that were proven on the real programs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import pytest

from launcher.run.script import Child, Script, shown
from tests.golden.test_agreement import made
from tests.golden.test_golden import CASES

SLURM = sorted(name for name in CASES if not name.endswith("-local"))
every = pytest.mark.parametrize("name", SLURM)

ALWAYS = {
    "--jobid={job}",
    "--overlap",
    "--input=none",
    "--cpu-bind=none",
    "--unbuffered",
}
"""What Slurm would otherwise take from the environment, or do in a way of its own (Slurm 22.05 and 24.11)."""

TOLD = {"--nodes", "--ntasks", "--nodelist", "--job-name", "--kill-on-bad-exit", "--mpi"}
NEVER = {"--export", "--exact", "--mem", "--cpus-per-task", "--gpus", "--gpus-per-node", "--gres", "--container"}
"""Refused beside others of the job, or of another effect than one would think."""

SWITCHES = {"--no-container-mount-home", "--no-container-entrypoint", "--no-container-remap-root"}
FORBIDDEN = re.compile(r'["$`\\\n]')
"""In paths of mounts: a shell on the node reads them (pyxis 0.24)."""


def srun(words: Sequence[str]) -> Iterator[list[str]]:
    """The options of `srun` by component of the job; late references as people read them."""
    options = [shown(word) for word in words[1 : words.index("--")]]
    yield from (list(group) for parted, group in groupby(options, lambda word: word == ":") if not parted)


def inside(words: Sequence[str]) -> list[str]:
    """What `srun` starts."""
    return [shown(word) for word in words[words.index("--") + 1 :]]


def value(options: Sequence[str], name: str) -> str:
    (found,) = [word.partition("=")[2] for word in options if word.partition("=")[0] == name]
    return found


def steps(script: Script) -> Iterator[tuple[str, ...]]:
    """The words of all steps, the launcher's own among them."""
    assert script.allocation
    yield script.allocation.facts
    yield from (node.tell for node in script.allocation.nodes)
    yield from (child.argv for child in script.children)


@every
def test_every_step_says_what_the_job_would_else_decide(name: str) -> None:
    for words in steps(made(name)[2]):
        assert words[0] == "srun"
        for options in srun(words):
            names = [word.partition("=")[0] for word in options]
            assert set(options) >= ALWAYS
            assert set(names) >= TOLD
            assert not {*names} & NEVER
            assert max(Counter(names).values()) == 1
            assert all(word.startswith("--") for word in options)


@every
def test_tasks_are_spread_over_the_nodes_that_are_named(name: str) -> None:
    for words in steps(made(name)[2]):
        for options in srun(words):
            nodes = value(options, "--nodelist").split(",")
            count, tasks = int(value(options, "--nodes")), int(value(options, "--ntasks"))
            assert len({*nodes}) == len(nodes) == count
            assert tasks == count * int(value(options, "--ntasks-per-node") if tasks > 1 else 1)


@every
def test_only_what_is_one_mpi_program_is_told_of_mpi_and_has_a_task_for_each_device(name: str) -> None:
    plan, _, script = made(name)
    mpi = {step.name: len(step.nodes) * len(step.gpus) for step in plan.steps if step.mpi}
    for child in script.children:
        for options in srun(child.argv):
            assert (value(options, "--mpi") != "none") == (child.name in mpi)
            assert int(value(options, "--ntasks")) == mpi.get(child.name, len(child.nodes))


@every
def test_the_node_writes_what_a_step_of_the_plan_prints(name: str) -> None:
    """A file with `%t` in its name is the node's, and goes on when `srun` is dead."""
    for child in made(name)[2].children:
        for options in srun(child.argv):
            if not child.last:
                assert value(options, "--output") == f"{{run}}/logs/{child.name}.%t.log"


@every
def test_devices_are_masked_inside(name: str) -> None:
    """Slurm overwrites an exported variable; `env` behind the container's words does not lose."""
    plan, _, script = made(name)
    devices = {step.name: ",".join(map(str, step.gpus)) for step in plan.steps}
    for child in script.children:
        masks = [word for word in inside(child.argv) if word.startswith("CUDA_VISIBLE_DEVICES=")]
        wanted = devices.get(child.name, "")
        assert masks == ([f"CUDA_VISIBLE_DEVICES={wanted}"] if wanted else [])
        assert not [each for each in child.env if "CUDA_VISIBLE_DEVICES" in each]


@every
def test_secrets_are_named_and_have_no_value_anywhere(name: str) -> None:
    plan, _, script = made(name)
    secrets = {secret for step in plan.steps for secret in step.env_from}
    for child in script.children:
        assert not {*child.env_from} & {*child.env}
        assert not [word for word in child.argv for secret in secrets if word.startswith(f"{secret}=")]


@every
def test_whatever_is_named_in_the_container_is_mounted_there(name: str) -> None:
    """Absolute paths among a role's words and variables: below `/launch`, or a mount's target."""
    plan, _, _ = made(name)
    for step in plan.steps:
        targets = tuple(mount.target.rstrip("/") + "/" for mount in step.mounts)
        texts = [text.rpartition("=")[2] for text in (*step.words, *step.env.values())]
        paths = [text for text in texts if re.fullmatch(r"/[\w./-]+", text)]
        assert [path for path in paths if not (path + "/").startswith(targets)] == [], step.name
        assert len({*targets}) == len(targets)


def pyxis(child: Child) -> list[str]:
    """The container's options of a step of the plan, or of one that prepares for it."""
    (options,) = srun(child.argv)
    return [word for word in options if "container" in word]


@pytest.mark.parametrize("name", [name for name in SLURM if not name.endswith("-x86-apptainer")])
def test_containers_of_pyxis(name: str) -> None:
    plan, _, script = made(name)
    writable = {step.name for step in plan.steps if step.writable}
    for child in script.children:
        if child.last:
            continue
        options = pyxis(child)
        names = {word.partition("=")[0] for word in options}
        assert names >= {*SWITCHES, "--container-workdir"}
        assert len(names & {"--container-readonly", "--container-writable"}) == 1
        assert len(names & {"--container-image", "--container-name"}) == 1 or child.name.startswith("launch.prepare.")
        joins = "--container-image" not in names
        assert not joins or value(options, "--container-name").endswith(":no_exec")
        assert ("--container-writable" in names) == (child.name in writable and not joins)
        if "--container-mounts" in names:
            mounts = value(options, "--container-mounts").split(",")
            assert mounts[0] == "{run}:/launch"
            assert not [mount for mount in mounts if FORBIDDEN.search(mount) or mount.count(":") not in (1, 2)]


@pytest.mark.parametrize("name", [name for name in SLURM if not name.endswith("-x86-apptainer")])
def test_variables_win_over_the_images_where_they_have_one_line(name: str) -> None:
    """Of a named value of several lines each later line would become a variable of the container."""
    for child in made(name)[2].children:
        named = [
            value(each, "--container-env").split(",") for each in srun(child.argv) if "--container-env" in str(each)
        ]
        for names in named:
            assert {*names} <= {*child.env}
            assert not [each for each in names if "\n" in child.env[each]]
        unnamed = {*child.env} - {each for names in named for each in names}
        assert all(each.startswith("LAUNCH__GIVEN_") for each in unnamed)


@pytest.mark.parametrize("name", [name for name in SLURM if name.endswith("-x86-apptainer")])
def test_containers_of_apptainer(name: str) -> None:
    plan, _, script = made(name)
    known = {step.name: step for step in plan.steps}
    for child in (child for child in script.children if child.name in known):
        step, words = known[child.name], inside(child.argv)
        options = words[words.index("apptainer") : words.index("/launch/setup/_enter.sh")]
        assert options[:4] == ["apptainer", "--quiet", "exec", "--no-eval"]
        assert {"--no-home", "--pwd=/"} <= {*options}
        assert "--containall" not in options
        assert ("--cleanenv" in options) != step.mpi
        assert ("--nv" in options) == bool(step.gpus)
        overlays = [word for word in options if word.startswith("--overlay=")]
        assert len(overlays) == step.writable
        assert not step.writable or ("--fakeroot" in options) != overlays[0].endswith(":ro")
        assert all(each.startswith(("APPTAINERENV_", "APPTAINER_CACHEDIR")) for each in child.env)
