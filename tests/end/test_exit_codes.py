"""The table of exit codes, each reached by a real case of the real program."""

import signal
import socket
from collections.abc import Callable

import pytest

from launcher.cli import help_text
from tests.cli.program import LAUNCH
from tests.end.deployment import Deployment, ended

ALONE = 'schema = 1\nname = "alone"\n[roles.worker]\nmanifest = "sim"\n'
LACKING = """\
schema = 1
name = "lacking"
about = "needs what is not there"
kind = "service"
[program]
command = ["no-such-program"]
"""


def fine(launch: Deployment) -> int:
    return launch("check", "quickstart").returncode


def fine_run(launch: Deployment) -> int:
    return launch.up(launch.recipe(ALONE), "--wait").returncode


def busy(launch: Deployment) -> int:
    with socket.create_server(("127.0.0.1", 8000 + launch.shift)):
        return launch.up(launch.recipe(ALONE)).returncode


def no_room(launch: Deployment) -> int:
    return launch.up(launch.recipe(ALONE), env={"XDG_STATE_HOME": "/dev/null/state"}).returncode


def unset_variable(launch: Deployment) -> int:
    return launch.up(launch.recipe(f'{ALONE}env_from = ["HF_TOKEN"]\n')).returncode


def misspelt(launch: Deployment) -> int:
    return launch("chekc", "quickstart").returncode


def absent(launch: Deployment) -> int:
    return launch("up", "./absent.toml").returncode


def unknown_run(launch: Deployment) -> int:
    return launch("down", "last").returncode


def refused(launch: Deployment) -> int:
    return launch("up", launch.recipe(f"{ALONE}replicsa = 2\n")).returncode


def refused_set(launch: Deployment) -> int:
    return launch("up", launch.recipe(ALONE), "--set", "roles.worker.replicas=0").returncode


def refused_preamble(launch: Deployment) -> int:
    return launch.up(launch.recipe(f'{ALONE}setup = "if"\n')).returncode


def no_program(launch: Deployment) -> int:
    launch.recipe(LACKING, "manifests/lacking.toml")
    return launch.up(launch.recipe(f'{ALONE}[roles.more]\nmanifest = "lacking"\n')).returncode


def no_slurm(launch: Deployment) -> int:
    return launch("up", "quickstart", "--cluster", "gb300", env={"USER": None}).returncode


def never_ready(launch: Deployment) -> int:
    return launch.up(launch.recipe(f"{ALONE}flags = {{ never-healthy = true }}\n"), "--timeout", "1s").returncode


def step_ended(launch: Deployment) -> int:
    return launch.up(launch.recipe(f"{ALONE}flags = {{ fail-after = 0.0 }}\n")).returncode


def interrupted(launch: Deployment) -> int:
    return signalled(launch, signal.SIGINT)


def terminated(launch: Deployment) -> int:
    return signalled(launch, signal.SIGTERM)


def signalled(launch: Deployment, number: int) -> int:
    up = launch.begin(launch.recipe(ALONE))
    launch.until("ready")
    up.send_signal(number)
    return ended(up)[0]


def unread(launch: Deployment) -> int:
    with launch.start("completion", "bash") as process:
        assert process.stdout is not None
        process.stdout.close()
        return process.wait(60)


def executed(launch: Deployment, command: str) -> int:
    assert launch.up(launch.recipe(ALONE), "--wait").returncode == 0
    return launch("exec", "last", "worker", "--", command).returncode


def unrunnable(launch: Deployment) -> int:
    return executed(launch, "/etc/passwd")


def no_command(launch: Deployment) -> int:
    return executed(launch, "no-such-program")


TABLE: list[tuple[Callable[[Deployment], int], int]] = [
    (fine, 0),
    (fine_run, 0),
    (busy, 1),
    (no_room, 1),
    (unset_variable, 1),
    (misspelt, 2),
    (absent, 2),
    (unknown_run, 2),
    (refused, 3),
    (refused_set, 3),
    (refused_preamble, 3),
    (no_program, 4),
    (no_slurm, 5),
    (never_ready, 6),
    (step_ended, 7),
    (interrupted, 130),
    (terminated, 143),
    (unread, 141),
    (unrunnable, 126),
    (no_command, 127),
]


@pytest.mark.parametrize(("case", "status"), TABLE, ids=lambda each: getattr(each, "__name__", None))
def test_exit_code(deployment: Deployment, case: Callable[[Deployment], int], status: int) -> None:
    assert case(deployment) == status


def test_the_table_is_the_documented_one() -> None:
    documented = help_text().partition("exit codes\n")[2]
    numbers = {int(word) for line in documented.splitlines() for word in line.split() if word.isdigit()}
    assert numbers == {status for _, status in TABLE}
    assert LAUNCH
