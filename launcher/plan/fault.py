"""What cannot be planned, as data; one page for each kind."""

from collections.abc import Mapping

from launcher.model.job import Job
from launcher.run.record import record
from launcher.text.diagnostic import Diagnostic, Place
from launcher.text.document import KeyPath


@record
class Fault:
    """Something the plan cannot meet. `kind` is a key of `KINDS`; `path` is relative to `role`, or to the
    recipe where that is None; `message` and `help` are worded for a Diagnostic.
    """

    kind: str
    role: str | None
    path: KeyPath
    message: str
    help: str


KINDS: Mapping[str, str] = {
    "gpus-not-whole-nodes": """A replica larger than a node does not take whole nodes

A replica that needs more GPUs than one node has takes whole nodes, so its GPUs must be a multiple of
`node.gpus` in the cluster file. A smaller replica shares a node with others.""",
    "node-has-no-gpus": """A role asks for GPUs on nodes that have none

The cluster file says how many GPUs a node has: `node.gpus`, 0 unless given. The built-in cluster `local`
has none.""",
    "no-room-beside": """A role does not fit on the node it is to be placed on

`on` puts every replica of the role on one node, and too few GPUs are free there.""",
    "unknown-placement": """`on` names no place

It is `head` (the first node), `dedicated` (nodes of the role's own) or the name of a role that is started,
to be on the node of its first replica. Roles cannot be placed beside each other in a circle.""",
    "too-few-nodes": """The cluster has fewer nodes than the job needs

`nodes` in the cluster file is how many there are at most.""",
    "ports-exhausted": """No port is left for a replica

Each port of a role is the first free one on its node from the base in the role manifest plus `[ports]
shift`, in steps. Ports end at 65535.""",
    "front-without-port": """The role that owns the public port has no port `http`

The router owns it, or without a router the only worker. The `http` of its role manifest's `[ports]` becomes
the public one.""",
    "unknown-after": """`after` in a role manifest names no role

It names the roles whose gates must be open before this one starts; `workers` is all of them.""",
    "circular-after": """Roles wait for each other, so none can be the first

`after` in their role manifests closes a circle.""",
    "step-names-clash": """Two roles lead to one name of a step

A step is named after its role, with a number for workers and for several replicas (`worker-0`), and with
`-rankN` on the further nodes of a replica. Logs and gates go by these names.""",
}
"""Kind of a fault, which is its code → what `launch explain CODE` prints; the first line is its summary."""


def diagnostic(fault: Fault, job: Job) -> Diagnostic:
    """The fault as a finding, at its place."""
    return Diagnostic(fault.kind, fault.message, _place(fault, job), help=fault.help)


def _place(fault: Fault, job: Job) -> Place:
    role = next((role for role in job.roles if role.name == fault.role), None)
    return job.origins.place(fault.path) if role is None else role.place(*fault.path)
