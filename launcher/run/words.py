"""Words that the supervisor and those who start it agree on; importing them costs nothing."""

DETACH = "--detach"
HOLD = "--hold"
"""Options of `run.pyz`; see `keeper.main`."""

LOG = "supervisor.log"
"""What a detached keeper and its supervisor say, in the run directory."""

OWN = "launch."
"""How the names of the launcher's own steps begin: a role's has no dot."""

GATES = ("http", "gauge", "tcp", "complete", "log")
"""Kinds of gates that can be asked."""
