"""What a benchmark is told of the deployment beside what every step is told."""

from launcher.plan.ports import HTTP
from launcher.roles.base import Net
from launcher.run.script import ref

MOST = 2000
"""Addresses that one variable holds: with more it would be longer than the 128 KiB that Linux passes on."""


def addresses(net: Net) -> dict[str, str]:
    """`LAUNCH_SERVED_NAME`, and for each role with a port `http` its URLs: `LAUNCH_URLS_WORKER`.

    They are parted by spaces; a role of more than `MOST` has none, and `LAUNCH_WORKERS_FILE` has all workers.
    """
    urls: dict[str, list[str]] = {}
    for endpoint in net.endpoints:
        urls.setdefault(endpoint.role, []).append(endpoint.url)
    for replica in net.replicas:
        if HTTP in replica.ports and replica.role.mode is None:
            url = f"http://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}"
            urls.setdefault(replica.role.name, []).append(url)
    told = {_variable(role): " ".join(found) for role, found in urls.items() if len(found) <= MOST}
    return {"LAUNCH_SERVED_NAME": net.served_name, **told}


def _variable(role: str) -> str:
    return "LAUNCH_URLS_" + role.upper().replace("-", "_")
