"""Words that the supervisor and those who start it agree on; importing them costs nothing."""

DETACH = "--detach"
HOLD = "--hold"
"""Options of `run.pyz`; see `keeper.main`."""

LOG = "supervisor.log"
"""What a detached keeper and its supervisor say, in the run directory."""

OWN = "launch."
"""How the names of the launcher's own steps begin: a role's has no dot."""

UNFINISHED = "launch: the preamble of the %s ended before its program began"
"""What a step says, on a line of its own, whose program it did not come to."""

OWNERS = ("cluster", "role")
"""Whose preamble that may be."""

GATES = ("http", "gauge", "tcp", "complete", "log")
"""Kinds of gates that can be asked."""
