import pytest

from launcher.render.srun import outputs, srun
from tests.render.plans import batch, step, words

ONE = [
    "srun",
    "--jobid={job}",
    "--overlap",
    "--nodes=1",
    "--ntasks=1",
    "--nodelist={host2}",
    "--job-name=worker-1@{id}",
    "--kill-on-bad-exit=1",
    "--input=none",
    "--mpi=none",
    "--cpu-bind=none",
    "--unbuffered",
    "--open-mode=append",
    "--output={run}/logs/worker-1.%t.log",
]


def test_one_task_on_one_node():
    assert words(srun(step("worker-1", (2,)), batch(3))) == ONE


@pytest.mark.parametrize(
    ("nodes", "tasks", "expected"),
    [
        ((0, 1, 2), 1, ["--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "--nodelist={host0},{host1},{host2}"]),
        ((0, 1), 8, ["--nodes=2", "--ntasks=8", "--ntasks-per-node=4", "--nodelist={host0},{host1}"]),
        ((3,), 4, ["--nodes=1", "--ntasks=4", "--ntasks-per-node=4", "--nodelist={host3}"]),
    ],
)
def test_several_tasks(nodes, tasks, expected):
    found = words(srun(step(nodes=nodes, tasks=tasks), batch(4)))
    assert found[3 : 3 + len(expected)] == expected


def test_ranks_of_one_program_get_the_site_s_mpi():
    assert "--mpi=pmix" in srun(step(), batch(1), mpi="pmix")


def test_every_option_is_one_word():
    assert all(word.startswith("--") for word in srun(step(), batch(1))[1:])


def test_a_host_step_prints_through_srun_and_its_tasks_may_end_one_by_one():
    found = words(srun(step(nodes=(0, 1)), batch(2), output=False, together=False))
    assert not [word for word in found if "output" in word or "open-mode" in word]
    assert "--kill-on-bad-exit=0" in found


def test_a_step_of_a_heterogeneous_job_says_its_component():
    found = words(srun(step(nodes=(2, 3)), batch(1, 3)))
    assert found[:4] == ["srun", "--jobid={job}", "--het-group=1", "--overlap"]
    assert "--nodelist={host2},{host3}" in found


def test_a_step_over_components_repeats_its_options_for_each():
    found = words(srun(step("all", (0, 1, 2)), batch(1, 2), output=False))
    colon = found.index(":")
    first, second = found[1:colon], found[colon + 1 :]
    assert [word for word in first if word not in second] == [
        "--het-group=0",
        "--nodes=1",
        "--ntasks=1",
        "--nodelist={host0}",
    ]
    assert [word for word in second if word not in first] == [
        "--het-group=1",
        "--nodes=2",
        "--ntasks=2",
        "--ntasks-per-node=1",
        "--nodelist={host1},{host2}",
    ]


@pytest.mark.parametrize(("nodes", "tasks", "count"), [((0,), 1, 1), ((0, 1), 1, 2), ((0, 1), 8, 8)])
def test_a_file_for_each_task(nodes, tasks, count):
    found = outputs(step(nodes=nodes, tasks=tasks))
    assert found == tuple(f"logs/worker-0.{task}.log" for task in range(count))
