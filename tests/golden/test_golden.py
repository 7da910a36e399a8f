"""Plans and Scripts of whole recipes, to the byte. `make golden` writes them anew: read the diff."""

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.cluster import Cluster
from launcher.model.link import Request, link
from launcher.plan.plan import plan
from launcher.plan.step import Plan
from launcher.render.sbatch import Submission, submission
from launcher.render.script import render
from launcher.run.script import Allocation, Child, Script, shown, to_data

Compare = Callable[[Path, str], None]

HERE = Path(__file__).parent
RECIPES = HERE / "recipes"
SITES = {"gb300": "./cluster.toml", "h100": "./h100.toml", "x86-apptainer": "./x86-apptainer.toml"}
"""The shipped clusters, with what recipes of these tests need besides."""

SGLANG = ("router.image=/opt/sglang-router",)
WHOLE = ("roles.worker.gpus=4",)
WHOLES = ("roles.prefill.gpus=4", "roles.decode.gpus=4")
MODEL = ("model.path=/models/x",)

CASES = {
    "quickstart-local": Request("quickstart"),
    "direct-local": Request("./direct.toml", sets=("roles.worker.gpus=0", *MODEL)),
    "sim-sglang-router-local": Request("sim-sglang-router", sets=SGLANG),
    "sim-sglang-router-pd-local": Request("sim-sglang-router-pd", sets=SGLANG),
    "sim-smg-pd-local": Request("sim-smg-pd"),
    "sim-vllm-router-local": Request("sim-vllm-router"),
    "sim-vllm-router-pd-local": Request("sim-vllm-router-pd"),
    "sim-llm-d-local": Request("sim-llm-d"),
    "sim-llm-d-pd-local": Request("sim-llm-d-pd"),
    "quickstart-gb300": Request("quickstart", "gb300"),
    "direct-gb300": Request("./direct.toml", "gb300"),
    "service-gb300": Request("./service.toml", SITES["gb300"]),
    "benchmark-local": Request("./benchmark.toml", sets=MODEL, unsets=("benchmark.on",)),
    "benchmark-gb300": Request("./benchmark.toml", SITES["gb300"], sets=(*MODEL, "roles.worker.gpus=4")),
    # Roles of different sizes, each in one NVLink domain: a heterogeneous job.
    "segments-gb300": Request("sim-smg-pd", "gb300", sets=("slurm.segment=role", "roles.decode.replicas=4")),
}
# Half nodes of 8 GPUs share an image; on nodes of 4 the recipes say themselves what they take.
for _site in ("h100", "x86-apptainer"):
    CASES[f"quickstart-{_site}"] = Request("quickstart", _site, sets=WHOLE)
    CASES[f"direct-{_site}"] = Request("./direct.toml", _site, sets=MODEL)
    CASES[f"service-{_site}"] = Request("./service.toml", SITES[_site])
for _recipe in ("sim-smg", "sim-vllm-router", "sim-sglang-router", "sim-llm-d"):
    for _site in SITES:
        own = _site == "gb300"
        CASES[f"{_recipe}-{_site}"] = Request(_recipe, _site, sets=() if own else WHOLE)
        CASES[f"{_recipe}-pd-{_site}"] = Request(f"{_recipe}-pd", _site, sets=() if own else WHOLES)

# The layouts of real engines, on nodes of 4 GPUs and of 8.
LAYOUTS = (
    "vllm-router",
    "vllm-router-pd",
    "vllm-router-pd:2p2d",
    "smg-sglang",
    "smg-sglang-pd",
    "sglang-router",
    "sglang-router-pd",
    "smg-trtllm",
    "vllm-router-nodes",
    "vllm-nodes",
    "smg-vllm-nodes",
    "smg-vllm-grpc-pd",
    "llm-d",
    "llm-d:dep8",
    "llm-d:precise",
    "llm-d:ranks",
    "llm-d:more-ranks",
    "llm-d:sessions",
    "llm-d-pd",
    "llm-d-pd:dep8",
    "llm-d-pd:precise",
    "llm-d-pd:ranks",
    "llm-d-offload",
)
for _recipe in LAYOUTS:
    for _site in SITES:
        CASES[f"{_recipe.replace(':', '-')}-{_site}"] = Request(_recipe, _site)

PLANS = [name for name in CASES if name.endswith(("-local", "-gb300"))]


def made(name: str) -> tuple[Plan, Cluster, Script]:
    """Plan, cluster and Script of a case. Nothing is read but the files of the package."""
    library = Files({}, site=RECIPES / "nosuch", directory=RECIPES)
    job = link(library, CASES[name])
    found = plan(job, load({role.manifest.adapter for role in job.roles}))
    return found, job.cluster, render(found, job.cluster)


@pytest.mark.parametrize("name", sorted(PLANS))
def test_plan(name: str, golden: Compare) -> None:
    text = json.dumps(to_data(made(name)[0]), indent=2, ensure_ascii=False)
    golden(HERE / f"{name}.plan.json", shown(text) + "\n")


@pytest.mark.parametrize("name", sorted(CASES))
def test_script(name: str, golden: Compare) -> None:
    found, cluster, script = made(name)
    job = _job(submission(found, cluster)) if found.batch else ""
    golden(HERE / f"{name}.script.txt", job + "\n".join(map(_child, script.children)) + _rest(script))


@pytest.mark.parametrize("name", sorted(CASES))
def test_no_encoder_escaped_a_late_reference(name: str) -> None:
    """What is escaped in an argument is bound no more."""
    for child in made(name)[2].children:
        assert not [word for word in (*child.argv, *child.env.values()) if "ufdd" in word.lower()]


def test_every_shipped_recipe_and_cluster_has_its_golden() -> None:
    library = Files({}, site=RECIPES / "nosuch", directory=RECIPES)
    recipes = {path.stem for path in (RECIPES.parents[2] / "recipes").glob("*.toml")}
    assert {f"{recipe}-{site}" for recipe in recipes for site in SITES} <= set(CASES)
    assert {*SITES, "local"} == set(library.clusters())
    assert "quickstart-local" in CASES


def test_every_layout_is_told_in_the_guide() -> None:
    """Which run is proved by which recipe."""
    guide = (RECIPES.parents[2] / "docs" / "guides" / "engines.md").read_text(encoding="utf-8")
    assert [recipe for recipe in LAYOUTS if f"`{recipe}`" not in guide] == []


def _words(argv: Sequence[str]) -> str:
    return " \\\n    ".join(shlex.quote(shown(word)) for word in argv)


def _job(made: Submission) -> str:
    return f"# submission\n  {_words(made.argv)}\n  sbatch gets {' '.join(made.inherit)}\n\n# job.sh\n{made.script}\n"


def _child(child: Child) -> str:
    env = "".join(f"  {name}={shlex.quote(shown(value))}\n" for name, value in child.env.items())
    env += "".join(f"  {child.env_prefix}{name} from the shell\n" for name in child.env_from)
    after = f"  after {' '.join(child.after)}\n" if child.after else ""
    kind = "" if child.lasting and child.critical else f"  lasting {child.lasting}, critical {child.critical}\n"
    kind += "  once the run is ready\n" * child.benchmark
    gates = "".join(f"  gate {gate.kind} {shown(gate.url)}\n" for gate in child.gates)
    end = f"  stop {child.stop.signal} {child.stop.seconds:g} s{' after all others' * child.last}\n"
    return f"# {child.name}\n{after}{kind}{env}{gates}  {_words(child.argv)}\n{end}"


def _rest(script: Script) -> str:
    files = "".join(f"\n# {file.path}\n{file.text}" for file in script.files if file.text is not None)
    budgets = f"ready {script.budgets.ready:g} s, stop {script.budgets.stop:g} s"
    told = "" if script.allocation is None else _allocation(script.allocation)
    return f"{files}\n{told}# slots {' '.join(script.slots)}\n# inherit {' '.join(script.inherit)}\n# {budgets}\n"


def _allocation(told: Allocation) -> str:
    nodes = "".join(
        f"# node {index}: ports {list(node.ports)}, paths {list(node.paths)}, gpus {node.gpus}, cpus {node.cpus}\n"
        f"  {_words(node.tell)} \\\n    ...\n"
        for index, node in enumerate(told.nodes)
    )
    roots = "".join(f"# root {root.kind} {shown(root.name)}\n  {_words(root.remove)}\n" for root in told.roots)
    asked = f"# facts of {told.interface}, {told.arch}\n  {_words(told.facts)}\n# steps\n  {_words(told.steps)}\n"
    ends = f"# signal\n  {_words(told.signal)} ...\n# kill\n  {_words(told.kill)} ...\n"
    return f"{asked}{nodes}{ends}{roots}# grace {told.grace:g} s\n\n"
