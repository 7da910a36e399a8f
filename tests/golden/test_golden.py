"""Plans and Scripts of whole recipes, to the byte. `make golden` writes them anew: read the diff."""

import json
import shlex
from pathlib import Path

import pytest

from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.link import Request, link
from launcher.plan.plan import plan
from launcher.render.script import render
from launcher.run.script import Child, Script, shown, to_data

HERE = Path(__file__).parent
RECIPES = HERE / "recipes"
GB300 = "./cluster.toml"

CASES = {
    "quickstart-local": Request("quickstart"),
    "quickstart-gb300": Request("quickstart", "gb300"),
    "direct-local": Request("./direct.toml", sets=("roles.worker.gpus=0", "model.path=/models/x")),
    "direct-gb300": Request("./direct.toml", "gb300"),
    "service-gb300": Request("./service.toml", GB300),
    "sim-sglang-router-local": Request("sim-sglang-router", sets=("router.image=/opt/sglang-router",)),
    "sim-sglang-router-pd-gb300": Request("sim-sglang-router-pd", "gb300"),
    "sim-sglang-router-pd-local": Request("sim-sglang-router-pd", sets=("router.image=/opt/sglang-router",)),
    "sim-smg-pd-local": Request("sim-smg-pd"),
    "sim-vllm-router-local": Request("sim-vllm-router"),
    "sim-vllm-router-pd-gb300": Request("sim-vllm-router-pd", "gb300"),
    "sim-vllm-router-pd-local": Request("sim-vllm-router-pd"),
}


@pytest.fixture(params=sorted(CASES))
def case(request):
    """Name of the case, its plan and its Script. Nothing of this machine is read but the files of the package."""
    library = Files({}, site=RECIPES / "nosuch", directory=RECIPES)
    job = link(library, CASES[request.param])
    found = plan(job, load({role.manifest.adapter for role in job.roles}))
    return request.param, found, render(found, job.cluster)


def test_plan(case, golden):
    name, found, _ = case
    text = json.dumps(to_data(found), indent=2, ensure_ascii=False)
    golden(HERE / f"{name}.plan.json", shown(text) + "\n")


def test_script(case, golden):
    name, _, script = case
    golden(HERE / f"{name}.script.txt", "\n".join(map(_child, script.children)) + _rest(script))


def _child(child: Child) -> str:
    words = " \\\n    ".join(shlex.quote(shown(word)) for word in child.argv)
    env = "".join(f"  {name}={shlex.quote(shown(value))}\n" for name, value in child.env.items())
    env += "".join(f"  {name} from the shell\n" for name in child.env_from)
    after = f"  after {' '.join(child.after)}\n" if child.after else ""
    return f"# {child.name}\n{after}{env}  {words}\n  stop {child.stop.signal} {child.stop.seconds:g} s\n"


def _rest(script: Script) -> str:
    files = "".join(f"\n# {file.path}\n{file.text}" for file in script.files if file.text is not None)
    budgets = f"ready {script.budgets.ready:g} s, stop {script.budgets.stop:g} s"
    return f"{files}\n# slots {' '.join(script.slots)}\n# inherit {' '.join(script.inherit)}\n# {budgets}\n"
