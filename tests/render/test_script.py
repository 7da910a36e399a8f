import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.model.cluster import Cluster
from launcher.model.job import Role
from launcher.plan.plan import plan
from launcher.render.script import line, render
from launcher.run.script import Child, Script, bind, dump, load, ref, to_data
from tests.jobs import adapters, cluster, job, manifest, role, router, site
from tests.plan.test_plan import jobs

IMAGE = "nvcr.io/a/b:1"


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
    assert child(script, "worker-0").argv[:3] == (ref("python"), "-m", "launcher.sim")
    assert child(script, "router").after == ("worker-0",)
    assert script.ready[-1].kind == "complete"
    assert script.url == f"http://{ref('ip', 0)}:8000"


def test_a_directory_for_an_image_needs_this_machine_s_path():
    script = rendered(role("worker", reference="/e"), router())
    assert script.slots == ("run", "python", "path", "host0", "ip0")
    assert bind(script, {**slots(script), "path": "/usr/bin"}).children[0].env["PATH"] == "/e/bin:/usr/bin"


def test_slurm_gets_an_allow_list_without_step_variables():
    script = rendered(role("worker", gpus=4, reference=IMAGE), router(reference=IMAGE), on=site("gb300"))
    assert [name for name in script.inherit if name.startswith("SLURM_")] == ["SLURM_CONF", "SLURM_JOB_ID"]
    assert script.slots == ("run", "job", "host0", "ip0")


def test_slurm_without_containers():
    on = cluster(scheduler="slurm", python="/opt/python3.11", node={"gpus": 4}, setup={"inline": "true"})
    argv = child(rendered(role("worker", gpus=2), on=on), "worker-0").argv
    assert argv[0] == "srun"
    assert not any("container" in word for word in argv)
    start = argv.index("--")
    assert argv[start + 1 : start + 6] == (
        "bash",
        f"{ref('run')}/setup/worker.sh",
        "env",
        "CUDA_VISIBLE_DEVICES=0,1",
        "/opt/python3.11",
    )


def test_paths_in_the_environment_are_those_of_the_container():
    script = rendered(role("worker", gpus=4, reference=IMAGE), router(reference=IMAGE), on=site("gb300"))
    assert child(script, "router").env["LAUNCH_WORKERS_FILE"] == "/launch/workers.json"


@pytest.mark.parametrize("on", [cluster(), site("gb300"), cluster(scheduler="slurm")])
def test_values_travel_in_the_environment_and_secrets_by_name(on):
    env = {"CANARY": "canary-1, \"'$\n2"}
    made = role("worker", env=env, env_from=("SECRET",), setup="true", reference=IMAGE)
    script = rendered(made, router(reference=IMAGE), on=on)
    found = child(script, "worker-0")
    assert found.env["CANARY"] == env["CANARY"]
    assert found.env_from == ("SECRET",)
    words = [word for each in script.children for word in each.argv]
    assert not any("canary" in word or "SECRET" in word for word in words)


def test_a_line_for_people():
    assert line(("srun", f"--x={ref('host', 0)}", "a b", "it's")) == "srun '--x={host0}' 'a b' 'it'\"'\"'s'"


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufdd0\ufdd1"))


@given(jobs(), st.dictionaries(st.sampled_from(["A", "B"]), TEXT), st.lists(TEXT, max_size=3))
def test_a_script_of_any_plan_survives_its_file_and_binds(made, env, words):
    roles = [*made.roles[:-1], role("extra", manifest(), env=env, flags={"say": words}), made.roles[-1]]
    roles = [role(each.name, each.manifest, **{**fields(each), "reference": IMAGE}) for each in roles]
    script = rendered(*roles, on=made.cluster)
    assert load(dump(script)) == script
    bound = bind(script, slots(script))
    assert load(dump(bound)) == bound
    assert "\ufdd0" not in json.dumps(to_data(bound), ensure_ascii=False)
    extra = child(bound, "extra")
    assert extra.argv[-len(words) - 1 :] == ("true", *(f"--say={word}" for word in words))
    assert {name: extra.env[name] for name in env} == env


def fields(each: Role) -> dict[str, Any]:
    names = ("env", "flags", "gpus", "replicas", "on", "setup")
    return {name: getattr(each, name) for name in names}
