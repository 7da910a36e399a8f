"""A flag of each shape."""

from typing import Any

from launcher.model.catalogue import Flag


def flag(**facts: Any) -> Flag:
    return Flag("--f", ("--f",), **facts)


TEXT = flag()
INT = flag(kind="int", minimum=0)
FLOAT = flag(kind="float")
SHARE = flag(kind="float", minimum=0, maximum=1)
PORT = flag(kind="int", maximum=9)
BOOL = flag(kind="bool")
PAIR = flag(kind="bool", negatives=("--no-f",))
JSON = flag(kind="json")
CHOICE = flag(choices=("cold", "warm"))
FOLDED = flag(choices=("cold", "warm"), folded=True)
JOINED = flag(joined=",")
NUMBERS = flag(kind="int", joined=",", minimum=0)
STORE = flag(arity="*")
SOME = flag(arity="+", kind="float")
EXTEND = flag(arity="+", repeat="extend")
APPEND = flag(repeat="append")
OFTEN = flag(arity="+", repeat="append")
ONE = flag(arity=1, repeat="append")
TWO = flag(arity=2)
MAYBE = flag(arity="?")
SIZE = flag(kind="int", suffixes=("k m", "K M"), also=("auto",), folded=True)
OPTIONAL = flag(kind="float", also=("", "None"))
MIXED = flag(kind="mixed", shape={"is": "T"}, types={"T": {"fields": {"a": "int"}, "needs": [], "more": "refused"}})
FILE = flag(pattern=r".*\.ya?ml", form="a file named `….yaml`", apart=True)
KNOWN = flag(known=("hermes", "pythonic"))
SNAKE = flag(choices=("flash_attn",), folded=True, snake=True)
SHAPED = flag(kind="json", shape={"is": "T"}, suffixes=("k", "K"), types=MIXED.types)
FIELD = SHAPED.field(("a",))
ANY = flag(kind="any")
LISTED = flag(joined=",", arity="+")
