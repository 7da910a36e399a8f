import pytest

from launcher.roles.base import Net, Replica
from tests.jobs import adapters, job, manifest, role

DIRECT = adapters()["direct"]


@pytest.mark.parametrize(
    ("roles", "messages"),
    [
        ([role("worker")], []),
        ([role("worker"), role("box", manifest())], []),
        # No worker at all is another check's finding.
        ([role("box", manifest())], []),
        ([role("worker", replicas=3)], ["3 workers need a router"]),
        ([role("prefill"), role("decode")], ["prefill and decode need a router"]),
        ([role("prefill")], ["prefill and decode need a router"]),
    ],
)
def test_exactly_one_worker(roles, messages):
    made = job(*roles)
    found = list(DIRECT.check(made, made.router))
    assert [each.message for each in found] == messages
    assert {each.code for each in found} <= set(DIRECT.codes)


def test_it_starts_nothing_and_the_worker_is_the_front():
    made = job(role("worker"))
    assert DIRECT.front(made) == "worker"
    replica = Replica(made.router, 0, "router", (0,), ())
    assert DIRECT.endpoints(replica) == ()
    assert DIRECT.tasks(replica, Net((), (), 8000, "worker", "m", None)) == ()
