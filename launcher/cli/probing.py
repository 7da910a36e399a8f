"""`launch check --probe`: what only this machine can tell of a recipe that is fine by itself."""

from launcher.cli.stages import Checked
from launcher.execute import local
from launcher.execute.claims import claimed
from launcher.execute.probe import audited
from launcher.execute.world import Real
from launcher.plan.plan import plan
from launcher.render.script import render
from launcher.text.diagnostic import Diagnostic


def probed(checked: Checked) -> list[Diagnostic]:
    """What the audits find, as `launch up` would: ports, programs, variables, preambles. Nothing is started."""
    job = checked.job
    made = plan(job, checked.adapters)
    world = Real()
    slots = local.slots(world, render(made, job.cluster))
    return audited(job, made, {**slots, "run": "the run directory"}, claimed(world))
