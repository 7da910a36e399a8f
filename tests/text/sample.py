"""Findings of every form, for the tests of the reports."""

from launcher.text.diagnostic import Diagnostic, Label, Place, Severity
from launcher.text.document import Document, KeyPath
from launcher.text.parse import assignment, parse

RECIPE = parse(
    "recipes/bad.toml",
    """\
schema = 1
name = "bad"

[model]
path = "m"

[router]
kind = "smg"

[roles.worker]
replicas = 3
gpus = 4
setup = '''
ulimit -n 4096
'''
flags = { tensor-paralel-size = 4 }
""",
)
CLUSTER = parse("gb300.toml", "nodes = 2\r\n\r\n[node]\r\ngpus = 4\r\n")
WORD = assignment("roles.worker.replicas=0")
WORKER: KeyPath = ("roles", "worker")

FLAG = Diagnostic(
    "unknown-flag",
    "vllm 0.20.2 has no flag `--tensor-paralel-size`",
    Place(RECIPE, (*WORKER, "flags", "tensor-paralel-size"), "key"),
    help="did you mean `tensor-parallel-size`?",
)
NODES = Diagnostic(
    "too-few-nodes",
    "3 replicas of 4 GPUs need 3 nodes",
    Place(RECIPE, (*WORKER, "replicas")),
    labels=(
        Label(Place(RECIPE, (*WORKER, "gpus")), "GPUs of one replica"),
        Label(Place(CLUSTER, ("nodes",)), "the cluster has 2"),
    ),
    notes=("a replica does not span nodes here", "two lines\nof a note"),
    help="ask for fewer replicas:\n`--set roles.worker.replicas=2`",
)
SETUP = Diagnostic("long-setup", "text over many lines", Place(RECIPE, (*WORKER, "setup")), Severity.WARNING)
ABSENT = Diagnostic("absent-key", "`max` is wanted", Place(RECIPE, (*WORKER, "max")))
WHOLE = Diagnostic("absent-key", "`allow` is wanted", Place(RECIPE, ("allow",)))
ZERO = Diagnostic("too-few", "must be 1 at least", Place(WORD, (*WORKER, "replicas")))
NOWHERE = Diagnostic("absent-file", "there is no file 100%.toml", None, exit=2)

ALL = (SETUP, FLAG, ZERO, NODES, NOWHERE, ABSENT, WHOLE)


def at(name: str, text: str, offset: int, length: int = 1) -> Diagnostic:
    """A finding at a character of a text that need not be TOML."""
    return Diagnostic("c", "m", Place(Document(name, text, {}), offset=offset, length=length))
