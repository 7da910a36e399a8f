"""The arguments of a cyclopts application (AIPerf's) as an argparse parser, to be told and tried like any other."""

import argparse
import enum
import importlib
import typing
from typing import Any, Union

NOTHING = type(None)


class Arguments(argparse.ArgumentParser):
    """What the default command of an `app` takes, which reads the command line itself.

    Its one parameter is a pydantic model: the fields say what the words of a flag may spell.
    """

    def __init__(self, app: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.app = app
        self.collection = app.assemble_argument_collection()
        # It takes most of the time that a command line takes, and is the same for each.
        type(app).assemble_argument_collection = lambda *args, **kwargs: self.collection
        whole, *parts = self.collection
        for each in parts:
            self.add(each, whole.hint.model_fields[each.keys[0]])

    def add(self, each: Any, field: Any) -> None:
        """Adds one argument; the function that reads its field first, or the field's type, is its own."""
        default = field.default.name if isinstance(field.default, enum.Enum) else field.default
        facts = {"dest": each.keys[0], "default": default, "help": each.parameter.help or field.description}
        kinds = [*flat(field.annotation)]
        if kinds == [bool]:
            self.switch(self.add_argument(*each.names, action="store_true", **facts), each.negatives)
            return
        (kind,) = kinds if len(kinds) == 1 else (None,)
        repeated = typing.get_origin(kind) is list
        reader: Any = next((each.func for each in field.metadata if hasattr(each, "func")), None)
        if isinstance(kind, enum.EnumMeta):
            reader = word
            facts["choices"] = [name.lower() for name in kind.__members__]
        elif typing.get_origin(kind) is typing.Literal:
            facts["choices"] = list(typing.get_args(kind))
        elif kind in (int, float):
            reader = kind
        made = self.add_argument(*each.names, type=reader, action="append" if repeated else "store", **facts)
        for mark in field.metadata:
            bound(made, mark)

    def switch(self, made: argparse.Action, negatives: Any) -> None:
        """Gives a switch the words that switch it off."""
        off = list(negatives) or [f"{made.option_strings[0]}=false"]
        made.negative_option_strings = off  # type: ignore[attr-defined]
        self._option_string_actions.update(dict.fromkeys(off, made))

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What the application makes of `args`."""
        for each in self.collection:
            each.tokens.clear()
        failures = (importlib.import_module("cyclopts").CycloptsError, ValueError)
        try:
            bound = self.app.parse_args(list(args), exit_on_error=False, print_error=False)[1]
        except failures as error:
            return self.error(str(error))
        (found,) = bound.arguments.values()
        return argparse.Namespace(**vars(found))


def flat(annotation: Any) -> Any:
    """The members of a union, of unions inside it too, without None; of an annotated type the type."""
    origin = typing.get_origin(annotation)
    if hasattr(annotation, "__metadata__"):
        yield from flat(annotation.__origin__)
    elif hasattr(annotation, "__value__"):
        yield from flat(annotation.__value__)
    elif origin is Union or type(annotation).__name__ == "UnionType":
        for inner in typing.get_args(annotation):
            yield from flat(inner)
    elif annotation is not NOTHING:
        yield annotation


def word(word: str) -> str:
    """Stands for what reads one of the choices, in any case, dashes as underscores."""
    return word


def bound(made: Any, mark: Any) -> None:
    """Gives a flag the bound that a mark of its field is, included: of a fraction that is not, the bound itself."""
    least, most = getattr(mark, "ge", None), getattr(mark, "le", None)
    above, below = getattr(mark, "gt", None), getattr(mark, "lt", None)
    step = 1 if made.type is int else 0
    least = above + step if above is not None else least
    most = below - step if below is not None else most
    if least is not None and least == int(least):
        made.minimum = int(least)
    if most is not None and most == int(most):
        made.maximum = int(most)
