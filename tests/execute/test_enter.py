"""Which step is entered."""

import pytest

from launcher.execute.enter import find
from launcher.run.script import Child, Script
from launcher.text.diagnostic import Refused

NAMES = (("launch.janitor", ""), ("launch.prepare.sim", "worker"), ("worker-0", "worker"), ("router", "router"))
SCRIPT = Script("test", (), tuple(Child(name, role, ("true",)) for name, role in NAMES))


@pytest.mark.parametrize(("name", "found"), [("worker-0", "worker-0"), ("worker", "worker-0"), ("router", "router")])
def test_a_step_or_the_first_of_a_role(name: str, found: str) -> None:
    """What prepares a root for a role is none of it."""
    assert find(SCRIPT, name).name == found


@pytest.mark.parametrize(
    ("name", "message", "advice"),
    [
        ("launch.janitor", "`launch.janitor` is a step of the launcher's own", "it has worker-0, router"),
        ("launch.prepare.sim", "`launch.prepare.sim` is a step of the launcher's own", "it has worker-0, router"),
        ("wroker", "the run has no step or role `wroker`", "did you mean `worker`?"),
        ("", "the run has no step or role ``", "it has worker-0, router"),
    ],
)
def test_what_is_not_entered(name: str, message: str, advice: str) -> None:
    with pytest.raises(Refused) as caught:
        find(SCRIPT, name)
    [said] = caught.value.diagnostics
    assert said.message.startswith(message)
    assert (said.code, said.help, said.exit) == ("unknown-step", advice, 2)
