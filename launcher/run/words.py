"""Words that the supervisor and those who start it agree on; importing them costs nothing."""

DETACH = "--detach"
HOLD = "--hold"
"""Options of `run.pyz`; see `keeper.main`."""

GATES = ("http", "gauge", "tcp", "complete", "log")
"""Kinds of gates that can be asked."""
