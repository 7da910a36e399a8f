"""Files of the run directory: who serves what, what to scrape, and the preambles."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from launcher.model.job import Job, Role
from launcher.plan.step import Target
from launcher.roles.base import Net
from launcher.roles.placeholder import WORKERS_FILE
from launcher.run.script import File
from launcher.run.words import UNFINISHED

SCRAPE_FILE = "scrape.json"
SITE_SETUP = "setup/_cluster.sh"
"""The cluster's preamble alone. No role's name begins with `_`."""
SCHEMA = 1


def files(job: Job, net: Net, url: str, targets: Sequence[Target], roles: Iterable[Role]) -> Iterator[File]:
    """All files of a plan; `roles` are those that start something."""
    yield File(WORKERS_FILE, data=workers(net, url))
    yield File(SCRAPE_FILE, data=scrape(targets))
    if job.cluster.setup is not None:
        yield File(SITE_SETUP, text=preamble(job.cluster.setup.inline))
    for role in roles:
        path = setup(job, role)
        if role.setup is not None and path is not None:
            site = None if job.cluster.setup is None else job.cluster.setup.inline
            yield File(path, text=preamble(site, role.setup))


def workers(net: Net, url: str) -> dict[str, Any]:
    """What `LAUNCH_WORKERS_FILE` names: the public URL and every endpoint, fields as `Endpoint` has them."""
    return {
        "schema": SCHEMA,
        "url": url,
        "served_name": net.served_name,
        "workers": [{**vars(endpoint), "connectors": [*endpoint.connectors]} for endpoint in net.endpoints],
    }


def scrape(targets: Sequence[Target]) -> list[dict[str, Any]]:
    """Prometheus's `file_sd` document: one group a target."""
    return [
        {
            "targets": [target.address],
            "labels": {"__metrics_path__": target.path, "role": target.role, "step": target.step},
        }
        for target in targets
    ]


def setup(job: Job, role: Role) -> str | None:
    """Path of the role's preamble in the run directory; None where neither it nor the cluster has one."""
    if role.setup is not None:
        return f"setup/{role.name}.sh"
    return None if job.cluster.setup is None else SITE_SETUP


def preamble(site: str | None, own: str | None = None) -> str:
    """A script that runs the texts of cluster and role, each to the byte, and becomes its arguments.

    A failure ends it before, which it then says (`UNFINISHED`). Images without bash run it by `sh`.
    """
    owned = {"cluster": site, "role": own}
    texts = (f"{_OWNER}={owner}\n\n{text}" for owner, text in owned.items() if text is not None)
    # Two newlines: a backslash at the end of a text continues no further than the first.
    return "\n\n".join([f"{_BASH}\nset -e\n{_TRAP}", *texts, 'trap - EXIT\nexec "$@"\n'])


_BASH = '[ -n "$BASH_VERSION" ] || ! command -v bash >/dev/null 2>&1 || exec bash "$0" "$@"'
_OWNER = "LAUNCH__SETUP"
# One trap for both texts: what the cluster's traps instead still holds in the role's. No exit code: bash (5.2) runs it
# for a signal too, and then has that of the last command.
_TRAP = f"trap 'echo \"{UNFINISHED % f'${_OWNER}'}\" >&2' EXIT"
