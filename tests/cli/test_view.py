"""A plan as people see it."""

import json
from dataclasses import replace

import pytest

from launcher.cli import graph
from launcher.cli.plan import document
from launcher.cli.render import sections
from launcher.cli.view import gate, gate_in_full, overview, ranges, words
from launcher.plan.step import Plan, Step, Target
from launcher.render.sbatch import Submission
from launcher.roles.base import Endpoint
from launcher.run.script import Allocation, Child, Expect, File, Gate, Node, Root, Script, load, ref

IP = ref("ip", 0)
HEALTH = Gate("http", f"http://{IP}:6100/health")
STEPS = tuple(
    Step(
        f"worker-{n}",
        "worker",
        (0,),
        ("python", "-m", "engine", "--port", str(6100 + 32 * n)),
        ports={"http": 6100 + 32 * n},
        gates=(HEALTH,),
    )
    for n in range(3)
)
ROUTER = Step(
    "router",
    "router",
    (0,),
    ("route", "--worker-urls", f"http://{IP}:6100", "", "--json", '{"a": 1}', "-v"),
    ports={"http": 8000, "prometheus": 29000},
    after=("worker-0", "worker-1", "worker-2"),
    env={"A": "x y"},
    memory=2048,
    image="smg",
    reference="docker://example.org/smg:1",
    env_from=("TOKEN",),
    setup="setup/router.sh",
    gates=(
        Gate(
            "http", f"http://{IP}:8000/workers", (Expect("workers", count=3, where={"ok": True}), Expect("n", equals=3))
        ),
    ),
)
PLAN = Plan(
    name="sample",
    cluster="local",
    nodes=1,
    url=f"http://{IP}:8000",
    served_name="tiny",
    steps=(*STEPS, ROUTER),
    files=(File("scrape.json", data=[f"{IP}:6100"]),),
    endpoints=tuple(
        Endpoint(step.name, "worker", f"http://{IP}:{step.ports['http']}", "aggregate", "vllm") for step in STEPS
    ),
    targets=(Target("worker-0", "worker", f"{IP}:6100", "/metrics"),),
    ready=(Gate("complete", f"http://{IP}:8000", model="tiny"),),
    timeout=90.0,
)


def test_overview() -> None:
    assert (
        overview(PLAN)
        == """\
sample on local: 4 steps on 1 node, ready within 90 s
model tiny at http://{ip0}:8000

step      role    node  memory  ports                        after       ready when
worker-0  worker  0     -       http 6100                    -           /health
worker-1  worker  0     -       http 6132                    -           /health
worker-2  worker  0     -       http 6164                    -           /health
router    router  0     2 GiB   http 8000, prometheus 29000  worker (3)  /workers (2 conditions)

commands

  worker-0   (and 2 like it: worker-1, worker-2)
    python -m engine
      --port 6100

  router
    image smg = docker://example.org/smg:1
    A='x y'
    TOKEN=…  from the submitting shell
    preamble setup/router.sh
    route
      --worker-urls http://{ip0}:6100 ''
      --json '{"a": 1}'
      -v

files in the run directory
  path         mode
  scrape.json  0600

metrics
  step      url
  worker-0  http://{ip0}:6100/metrics"""
    )


def test_colour_is_in_headings_alone() -> None:
    plain = overview(PLAN, color=True).replace("\033[1m", "").replace("\033[0m", "")
    assert plain == overview(PLAN)
    assert overview(PLAN, color=True).count("\033[1m") == 4


@pytest.mark.parametrize(
    ("asked", "short", "full"),
    [
        (HEALTH, "/health", "http http://{ip0}:6100/health  status 200"),
        (Gate("tcp", f"tcp://{IP}:6100"), "port 6100 open", "tcp tcp://{ip0}:6100"),
        (Gate("complete", f"http://{IP}:1", model="m"), "a completion", "complete http://{ip0}:1  completes as `m`"),
        (
            Gate("gauge", "http://a/metrics", (Expect("ready", equals=2.0),)),
            "/metrics (1 condition)",
            "gauge http://a/metrics  ready = 2.0",
        ),
        (
            Gate("http", "http://a", (Expect("data", has="m"), Expect("", count=1, where={"k": 1})), status=204),
            "/ (2 conditions)",
            "http http://a  status 204, data has 'm', 1 in answer[k=1]",
        ),
    ],
)
def test_gates(asked: Gate, short: str, full: str) -> None:
    assert (gate(asked), gate_in_full(asked)) == (short, full)


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([0, 1, 2], "0-2"), ([5, 0, 1, 7, 6], "0-1,5-7"), ([2, 4], "2,4")]
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text


def test_words_keep_values_with_their_flag() -> None:
    assert list(words(["p", "-m", "mod", "--a", "1", "2", "--neg", "-1"])) == ["p -m mod", "--a 1 2", "--neg -1"]


def test_graph() -> None:
    assert (
        graph.text(PLAN)
        == """\
client ──http://{ip0}:8000──▶ router ─┬─▶ worker-0 :6100
                                      ├─▶ worker-1 :6132
                                      └─▶ worker-2 :6164"""
    )
    assert (
        graph.mermaid(PLAN)
        == """\
flowchart LR
    client -- "http://{ip0}:8000" --> front["router"]
    front --> worker0["worker-0 :6100"]
    front --> worker1["worker-1 :6132"]
    front --> worker2["worker-2 :6164"]"""
    )


def test_graph_of_services_and_a_benchmark() -> None:
    cache = Step("cache-0", "cache", (0,), ("redis",), ports={"tcp": 6379})
    quiet, load = Step("probe-0", "probe", (0,), ("x",)), Step("load", "load", (0,), ("y",), lasting=False)
    whole = replace(PLAN, steps=(*PLAN.steps, cache, quiet, load))
    front = graph.text(PLAN).partition("──▶ ")[2].partition(" ")[0]
    assert graph.text(whole).removeprefix(graph.text(PLAN)) == (
        f"\nbeside it ─▶ cache-0 :6379, probe-0\nonce ready ─▶ load ─▶ {front}"
    )
    assert graph.mermaid(whole).splitlines()[-3:] == [
        '    beside0["cache-0 :6379"]', '    beside1["probe-0"]', '    after0["load"] -. "once ready" .-> front',
    ]  # fmt: skip


def test_graph_goes_by_node_and_port() -> None:
    """The public port is a worker's too, on another node."""
    router = replace(ROUTER, ports={"http": 6100})
    same = replace(PLAN, url=f"http://{IP}:6100", steps=(replace(STEPS[0], nodes=(1,)), router))
    assert graph.text(same).startswith("client ──http://{ip0}:6100──▶ router ─┬─▶ worker-0 :6100\n")


def test_graph_without_a_router() -> None:
    alone = Plan(**{**vars(PLAN), "steps": STEPS[:1], "endpoints": PLAN.endpoints[:1], "url": f"http://{IP}:6100"})
    assert graph.text(alone) == "client ──http://{ip0}:6100──▶ worker-0"


SCRIPT = Script(
    name="sample",
    slots=("ip0", "run"),
    children=(
        Child(
            "a", "worker", ("python", "-c", "print('x')"), env={"LAUNCH_IP": IP}, env_from=("TOKEN",), gates=(HEALTH,)
        ),
        Child("b", "job", ("true",), after=("a",), lasting=False, critical=False),
    ),
    files=(File("setup/a.sh", text="echo 1\necho 2\n", mode=0o700), File("c.json", data={"ip": IP})),
    ready=PLAN.ready,
    inherit=("PATH", "LC_*"),
)


def test_render() -> None:
    assert (
        "\n\n".join(sections(SCRIPT))
        == """\
step a
  role      worker, lasting; its end ends the run
  env       LAUNCH_IP={ip0}
  env from  TOKEN
  gate      http http://{ip0}:6100/health  status 200
  stop      TERM, KILL after 10 s
  words     python -c 'print('"'"'x'"'"')'

step b
  role      job, runs to its end; the run goes on without it
  after     a
  stop      TERM, KILL after 10 s
  words     true

file setup/a.sh  mode 0700
  | echo 1
  | echo 2

file c.json  mode 0600
  | {
  |   "ip": "{ip0}"
  | }

ready within 600 s
  complete http://{ip0}:8000  completes as `tiny`

variables of the shell that steps get
  PATH LC_*"""
    )


def test_render_of_a_job() -> None:
    told = Allocation(
        facts=("srun", f"--jobid={ref('job')}", "--", "python3", f"{ref('run')}/run.pyz"),
        nodes=(Node(ports=(1, 2), paths=("/a b",), gpus=8), Node()),
        steps=("squeue",),
        signal=("scancel",),
        kill=("scancel",),
        roots=(Root("directory", f"/raid/{ref('id')}", ("rm", "-rf", f"/raid/{ref('id')}")),),
    )
    child = Child("w", "", ("srun",), env_from=("TOKEN",), env_prefix="APPTAINERENV_")
    script = Script("sample", ("run",), (child,), allocation=told)
    job = Submission(("sbatch", f"--comment={ref('id')}", f"{ref('run')}/job.sh"), "", ("PATH", "HOME"))
    assert (
        "\n\n".join(sections(script, job))
        == """\
job
  words     sbatch --comment={id} {run}/job.sh
  env from  PATH HOME

asked of the nodes
  words     srun --jobid={job} -- python3 {run}/run.pyz
  node 0    ports 1 2, paths '/a b', 8 GPUs
  node 1    nothing
  left      directory /raid/{id}, removed by rm -rf /raid/{id}

step w
  role      none, lasting; its end ends the run
  env from  APPTAINERENV_TOKEN
  stop      TERM, KILL after 10 s
  words     srun"""
    )


def test_document_keeps_the_marks_and_is_ascii() -> None:
    text = document(PLAN, SCRIPT)
    assert text.isascii()
    whole = json.loads(text)
    assert list(whole) == ["schema", "plan", "script"]
    assert whole["plan"]["url"] == PLAN.url
    assert load(json.dumps(whole["script"])) == SCRIPT
