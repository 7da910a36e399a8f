"""Files of the run directory: who serves what, what to scrape, and the preambles."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from launcher.model.job import Job, Role
from launcher.plan.step import Target
from launcher.roles.base import Net
from launcher.roles.placeholder import WORKERS_FILE
from launcher.run.script import File

SCRAPE_FILE = "scrape.json"
SCHEMA = 1


def files(job: Job, net: Net, url: str, targets: Sequence[Target], roles: Iterable[Role]) -> Iterator[File]:
    """All files of a plan; `roles` are those that start something."""
    yield File(WORKERS_FILE, data=workers(net, url))
    yield File(SCRAPE_FILE, data=scrape(targets))
    for role in roles:
        text = preamble(job, role)
        path = setup(job, role)
        if text is not None and path is not None:
            yield File(path, text=text)


def workers(net: Net, url: str) -> dict[str, Any]:
    """What `LAUNCH_WORKERS_FILE` names: the public URL and every endpoint, fields as `Endpoint` has them."""
    return {
        "schema": SCHEMA,
        "url": url,
        "served_name": net.served_name,
        "workers": [dict(vars(endpoint)) for endpoint in net.endpoints],
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
    return None if job.cluster.setup is None and role.setup is None else f"setup/{role.name}.sh"


def preamble(job: Job, role: Role) -> str | None:
    """The cluster's text, then the role's, each to the byte; a failure ends the step before its command."""
    texts = [job.cluster.setup.inline if job.cluster.setup else None, role.setup]
    parts = [text for text in texts if text is not None]
    # Two newlines: a backslash at the end of a text continues no further than the first.
    return "\n\n".join(["set -e", *parts, 'exec "$@"\n']) if parts else None
