import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.cluster import Cluster
from launcher.model.job import Role
from launcher.model.recipe import Mount
from launcher.plan.plan import plan
from launcher.plan.step import Step
from launcher.render.script import line, render
from launcher.render.slurm import RUNTIMES
from launcher.run.script import Child, Script, bind, dump, load, ref, to_data
from tests.jobs import adapters, cluster, job, manifest, role, router, site
from tests.plan.test_plan import jobs
from tests.render import plans

IMAGE = "nvcr.io/a/b:1"
APPTAINER = cluster(scheduler="slurm", runtime="apptainer", node={"gpus": 8})


def rendered(*roles: Role, on: Cluster | None = None, **fields: Any) -> Script:
    made = job(*roles, on=on, **fields)
    return render(plan(made, adapters()), made.cluster)


def child(script: Script, name: str) -> Child:
    return next(each for each in script.children if each.name == name)


def slots(script: Script) -> dict[str, str]:
    return {name: f"/{name}" for name in script.slots}


def test_a_local_script():
    script = rendered(role("worker"), router(), ready={"timeout": "90s"})
    assert script.slots == ("run", "python", "host0", "ip0")
    assert script.budgets.ready == 90
    assert script.budgets.stop > max(each.stop.seconds for each in script.children)
    assert "PATH" in script.inherit
    assert "LC_*" in script.inherit
    assert child(script, "worker-0").argv[:2] == (ref("python"), f"{ref('run')}/sim.pyz")
    assert child(script, "router").after == ("worker-0",)
    assert script.ready[-1].kind == "complete"
    assert script.url == f"http://{ref('ip', 0)}:8000"


def test_a_directory_for_an_image_needs_this_machine_s_path():
    script = rendered(role("worker", reference="/e"), router())
    assert script.slots == ("run", "python", "path", "host0", "ip0")
    assert bind(script, {**slots(script), "path": "/usr/bin"}).children[0].env["PATH"] == "/e/bin:/usr/bin"


def test_slurm_gets_an_allow_list_without_step_variables():
    made = role("worker", gpus=4, reference=IMAGE)
    script = rendered(made, router(reference=IMAGE), on=site("gb300"))
    assert [name for name in script.inherit if name.startswith("SLURM_")] == ["SLURM_CONF"]
    assert script.slots == ("run", "id", "job", "jobs", "host0", "ip0")
    assert {file.path for file in script.files} >= {"setup/_enter.sh", "pids/.keep", "setup/_cluster.sh"}


def test_slurm_without_containers():
    on = cluster(scheduler="slurm", python="/opt/python3.11", node={"gpus": 4}, setup={"inline": "true"})
    argv = child(rendered(role("worker", gpus=2), on=on), "worker-0").argv
    assert argv[0] == "srun"
    assert not any("container" in word for word in argv)
    run = ref("run")
    assert argv[argv.index("--") :][:9] == (
        *("--", "sh", f"{run}/setup/_enter.sh", "worker-0"),
        *("env", "CUDA_VISIBLE_DEVICES=0,1", "sh", f"{run}/setup/_cluster.sh", "/opt/python3.11"),
    )


def test_paths_in_the_environment_are_those_of_the_container():
    script = rendered(role("worker", gpus=4, reference=IMAGE), router(reference=IMAGE), on=site("gb300"))
    assert child(script, "router").env["LAUNCH_WORKERS_FILE"] == "/launch/workers.json"


@pytest.mark.parametrize("on", [cluster(), site("gb300"), cluster(scheduler="slurm"), APPTAINER])
def test_values_travel_in_the_environment_and_secrets_by_name(on):
    env = {"CANARY": "canary-1, \"'$\n2"}
    made = role("worker", env=env, env_from=("SECRET",), setup="true", reference=IMAGE)
    script = rendered(made, router(reference=IMAGE), on=on)
    found = child(script, "worker-0")
    assert found.env[f"{found.env_prefix}CANARY"] == env["CANARY"]
    assert found.env_from == ("SECRET",)
    words = [word for each in script.children for word in each.argv]
    # Under pyxis their names are words, of the program that gives them their names back.
    assert not any("canary" in word or "SECRET" in word for word in words if word != "SECRET CANARY")


def test_a_line_for_people():
    assert line(("srun", f"--x={ref('host', 0)}", "a b", "it's")) == "srun '--x={host0}' 'a b' 'it'\"'\"'s'"


def pyxis(*roles: Role, **data: Any) -> Script:
    return rendered(*roles, router(reference=IMAGE), on=cluster(scheduler="slurm", runtime="pyxis", node=NODE, **data))


NODE = {"gpus": 8}


def test_a_root_is_prepared_once_and_the_janitor_is_there_before():
    script = pyxis(role("worker", gpus=2, replicas=2, image="img", reference=IMAGE))
    names = [each.name for each in script.children]
    assert names == ["launch.janitor", "launch.prepare.img", "worker-0", "worker-1", "router"]
    janitor, prepare = script.children[:2]
    assert (janitor.lasting, janitor.critical, janitor.last) == (True, False, True)
    (gate,) = janitor.gates
    assert (gate.kind, gate.url, gate.expect[0].count) == ("log", f"{ref('run')}/logs/launch.janitor.log", 1)
    assert (prepare.lasting, prepare.critical, prepare.after) == (False, True, ("launch.janitor",))
    assert prepare.argv[-2:] == ("--", "true")
    assert child(script, "worker-1").after == ("launch.prepare.img",)
    assert child(script, "router").after == ("launch.prepare.img", "worker-0", "worker-1")
    assert script.allocation is not None
    (root,) = script.allocation.roots
    name = f"pyxis_launch-{ref('job')}-{ref('id')}-img"
    assert (root.kind, root.name, root.remove) == ("enroot", name, ("enroot", "remove", "--force", name))


def test_without_a_shared_root_there_is_no_janitor():
    script = pyxis(role("worker", gpus=8, reference="a.io/other:1"))
    assert [each.name for each in script.children] == ["worker-0", "router"]
    assert script.allocation is not None
    assert script.allocation.roots == ()


def test_a_folder_that_apptainer_writes_is_removed_by_the_janitor():
    made = router(reference=IMAGE, setup="pip install x")
    script = rendered(role("worker", gpus=8, reference=IMAGE), made, on=APPTAINER)
    assert [each.name for each in script.children] == ["launch.janitor", "worker-0", "router"]
    assert child(script, "worker-0").after == ()
    assert child(script, "router").after == ("launch.janitor", "worker-0")
    assert script.allocation is not None
    assert [root.kind for root in script.allocation.roots] == ["directory"]


def test_variables_that_all_roles_inherit_are_named_to_apptainer():
    on = APPTAINER.model_copy(update={"inherit": ["LANG"]})
    script = rendered(role("worker", gpus=8, reference=IMAGE, env_from=("TOKEN",)), on=on)
    found = child(script, "worker-0")
    assert (found.env_from, found.env_prefix) == (("TOKEN", "LANG"), "APPTAINERENV_")
    assert script.inherit[-1] == "LANG"


def test_what_the_supervisor_is_told_of_each_node():
    made = role("worker", gpus=8, replicas=2, reference="/i/a.sqsh", mounts=(Mount(source="/data", target="/d"),))
    node = {"gpus": 8, "cpus": 64}
    on = cluster(scheduler="slurm", runtime="pyxis", node=node, interface="ib0", arch="aarch64", slurm={"kill_wait": 6})
    told = rendered(made, router(reference=IMAGE), on=on).allocation
    assert told is not None
    assert (told.interface, told.arch, told.grace) == ("ib0", "aarch64", 4.0)
    first, second = told.nodes
    assert (first.ports, second.ports) == ((6100, 8000, 29000), (6100,))
    assert (first.paths, first.gpus, first.cpus) == (("/data", "/i/a.sqsh"), 8, 64)
    for index, one in enumerate(told.nodes):
        assert f"--nodelist={ref('host', index)}" in one.tell
        assert one.tell[-3:] == (f"{ref('run')}/run.pyz", "--tell", ref("run"))
    assert told.facts[-3:] == (f"{ref('run')}/run.pyz", "--facts", ref("run"))
    assert f"--nodelist={ref('host', 0)},{ref('host', 1)}" in told.facts
    assert told.steps == ("squeue", "--steps", "--noheader", f"--jobs={ref('jobs')}", "--format=%i %j")
    assert (told.signal, told.kill) == (("scancel", "--signal=TERM"), ("scancel",))
    assert "PYXIS_*" in told.scrub


@pytest.mark.parametrize("runtime", ["pyxis", "apptainer"])
def test_a_preamble_of_several_tasks_on_a_node_runs_once_there(runtime):
    on = cluster(scheduler="slurm", runtime=runtime, node=NODE, setup={"inline": "ulimit -n 9"})
    made = Step(
        *("mpi", "mpi", (0, 1), ("serve",)),
        tasks=8,
        mpi=True,
        reference=IMAGE,
        setup="setup/mpi.sh",
        writable=True,
        env={"A": "1"},
        env_from=("TOKEN",),
        gpus=(0, 1, 2, 3),
    )
    script = render(plans.plan(made), on)
    janitor, prepare, step = script.children
    assert (prepare.name, step.after) == ("launch.prepare.mpi", ("launch.prepare.mpi",))
    assert {"--ntasks=2", "--ntasks-per-node=1", "--mpi=none"} <= set(prepare.argv)
    assert prepare.argv[-3:] == ("sh", "/launch/setup/mpi.sh", "true")
    assert (prepare.env, prepare.env_from) == (step.env, ("TOKEN",))
    assert {"--ntasks=8", "--ntasks-per-node=4", "--mpi=pmix"} <= set(step.argv)
    assert step.argv[-3:] == ("sh", "/launch/setup/_cluster.sh", "serve")
    assert step.outputs == tuple(f"logs/mpi.{task}.log" for task in range(8))
    assert janitor.name == "launch.janitor"


def test_a_root_in_two_components_is_prepared_in_each():
    steps = [Step(name, "w", (0, 1), ("serve",), image="img", reference=IMAGE) for name in "ab"]
    script = render(plans.plan(*steps, on=plans.batch(1, 1)), plans.site())
    names = [each.name for each in script.children]
    # A step of a role has all its nodes in one component; the preparing step has one for each.
    assert names[:3] == ["launch.janitor", "launch.prepare.img", "launch.prepare.img.1"]
    assert script.children[3].after == ("launch.prepare.img", "launch.prepare.img.1")
    assert ":" in script.children[0].argv


def test_further_options_of_srun_are_those_of_role_steps_alone():
    on = plans.site()
    steps = [Step(name, "w", (0,), ("serve",), image="img", reference=IMAGE) for name in "ab"]
    script = render(plans.plan(*steps, on=plans.batch(1, srun=("--network=x",))), on)
    having = [each.name for each in script.children if "--network=x" in each.argv]
    assert having == ["launch.prepare.img", "a", "b"]
    assert script.allocation is not None
    assert "--network=x" not in (*script.allocation.facts, *script.allocation.nodes[0].tell)


def test_only_what_occurs_is_to_be_bound():
    local = cluster(scheduler="slurm", runtime="apptainer", node={"gpus": 8, "local": "/s/$USER"})
    script = rendered(role("worker", gpus=8, reference=IMAGE, setup="true"), on=local)
    assert script.slots[:5] == ("run", "id", "job", "jobs", "user")
    bare = rendered(role("worker", gpus=8, reference="/e"), on=cluster(scheduler="slurm", node=NODE))
    assert bare.slots[:5] == ("run", "id", "job", "jobs", "path")


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufdd0\ufdd1"))
PLACES = [cluster(node=NODE), *(cluster(scheduler="slurm", runtime=name, node=NODE) for name in RUNTIMES)]


@given(
    jobs(),
    st.sampled_from(PLACES),
    st.dictionaries(st.sampled_from(["A", "PATH", "LD_X"]), TEXT),
    st.lists(TEXT, max_size=3),
)
def test_a_script_of_any_plan_survives_its_file_and_binds(made, on, env, words):
    roles = [*made.roles[:-1], role("extra", manifest(), env=env, flags={"say": words}), made.roles[-1]]
    roles = [role(each.name, each.manifest, **{**fields(each), "reference": IMAGE}) for each in roles]
    script = rendered(*roles, on=on.model_copy(update={"node": made.cluster.node}))
    assert load(dump(script)) == script
    bound = bind(script, slots(script))
    assert load(dump(bound)) == bound
    assert "\ufdd0" not in json.dumps(to_data(bound), ensure_ascii=False)
    extra = child(bound, "extra")
    assert extra.argv[-len(words) - 1 :] == ("true", *(f"--say={word}" for word in words))
    inner = dict(word.split("=", 1) for word in extra.argv if word.startswith(("PATH=", "LD_X=")))
    given = {name.removeprefix("APPTAINERENV_"): value for name, value in extra.env.items()} | inner
    # Values of several lines go by another name under pyxis, and get their own inside.
    found = {name.removeprefix("LAUNCH__GIVEN_"): value for name, value in given.items()}
    assert {name: found[name] for name in env} == env


@given(jobs(), st.sampled_from(PLACES[1:]), st.text("abz019", min_size=12, max_size=12))
def test_no_word_of_a_job_has_a_value_of_the_environment(made, on, secret):
    env = {"A": f"secret{secret}", "TOKEN": f"{secret}secret\n2"}
    roles = [role(each.name, each.manifest, **{**fields(each), "reference": IMAGE, "env": env}) for each in made.roles]
    script = rendered(*roles, on=on.model_copy(update={"node": made.cluster.node}))
    assert script.allocation is not None
    words = [word for each in script.children for word in each.argv] + list(script.allocation.facts)
    words += [word for one in script.allocation.nodes for word in one.tell]
    words += [word for root in script.allocation.roots for word in root.remove]
    assert not [word for word in words if secret in word]


def fields(each: Role) -> dict[str, Any]:
    names = ("env", "flags", "gpus", "replicas", "on", "setup")
    return {name: getattr(each, name) for name in names}
