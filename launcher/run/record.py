"""Records: dataclasses that cost little to define.

`dataclasses.dataclass(frozen=True)` compiles six functions for each class, some 0.6 ms of CPython 3.11. A command that
defines eighty classes and makes objects of thirty would spend more on that than on its work. The methods of records
are shared, but for `__init__`, which is compiled when a class turns out to have many objects.

To `dataclasses`, `copy`, `pickle` and type checkers they are dataclasses. A class has no `__post_init__`, and its
fields are all arguments of `__init__`, in order. Neither kind is made a base of the other or of a frozen dataclass.
"""

import itertools
import sys
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar

if sys.version_info >= (3, 11):
    from typing import dataclass_transform  # novermin
else:

    def dataclass_transform(**words: Any) -> Any:
        """Means something to type checkers alone."""
        return lambda decorator: decorator


T = TypeVar("T")

_FEW = 8
"""Objects of a class whose making costs less than to compile an `__init__` for them."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Type[T]) -> Type[T]:
    """The class as a frozen dataclass, compared and hashed by its fields. Methods of its own stay."""
    return _made(cls, _FROZEN)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: Type[T]) -> Type[T]:
    """The class as a dataclass whose fields may change, compared by them. Methods of its own stay."""
    return _made(cls, _MUTABLE)


def _made(cls: Type[T], shared: Mapping[str, Optional[Callable[..., Any]]]) -> Type[T]:
    if hasattr(cls, "__post_init__"):
        raise TypeError("a record has no __post_init__")
    if not cls.__doc__:
        # `dataclasses` would make one of the class's signature, for as much as all the rest costs.
        cls.__doc__ = cls.__name__
    made: Any = dataclass(init=False, repr=False, eq=False)(cls)
    compared = tuple(each.name for each in fields(made) if each.compare)
    methods = {**shared, "__init__": _first(made), "_compared": staticmethod(_values(compared))}
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(made, name, method)
    return cls


def _values(names: Tuple[str, ...]) -> Callable[[Any], Any]:
    """What gives the values of these attributes as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _first(cls: Any) -> Callable[..., None]:
    """An `__init__` for the first few objects, which puts the real one in its place once they are many."""
    count = itertools.count()
    known = fields(cls)

    def init(self: object, *values: Any, **named: Any) -> None:
        given = _given(known, values, named) if next(count) < _FEW else None
        if given is None:
            cls.__init__ = _init(cls)
            cls.__init__(self, *values, **named)
            return
        for name, value in given:
            object.__setattr__(self, name, value)

    return init


def _given(known: Sequence[Any], values: Sequence[Any], named: Dict[str, Any]) -> Optional[List[Tuple[str, Any]]]:
    """What each field gets; None for a call that does not fit, of which the real `__init__` says why."""
    rest = known[len(values) :]
    if len(values) > len(known) or not named.keys() <= {each.name for each in rest}:
        return None
    found = [(known[index].name, value) for index, value in enumerate(values)]
    for each in rest:
        if each.name in named:
            found.append((each.name, named[each.name]))
        elif each.default is not MISSING:
            found.append((each.name, each.default))
        elif each.default_factory is not MISSING:
            found.append((each.name, each.default_factory()))
        else:
            return None
    return found


def _init(cls: Any) -> Callable[..., None]:
    """The `__init__` that `dataclasses` would make for a frozen one."""
    names: Dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    heads, lines = ["self"], []
    for index, each in enumerate(fields(cls)):
        head = value = each.name
        if each.default is not MISSING:
            names["_%d" % index], head = each.default, "%s=_%d" % (each.name, index)
        elif each.default_factory is not MISSING:
            names["_%d" % index], head = each.default_factory, "%s=_missing" % each.name
            value = "_%d() if %s is _missing else %s" % (index, each.name, each.name)
        heads.append(head)
        lines.append("_set(self, '%s', %s)" % (each.name, value))
    exec("def __init__(%s):\n %s" % (", ".join(heads), "\n ".join(lines or ["pass"])), names)  # noqa: S102
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = "%s.__init__" % cls.__qualname__
    return made


def _equal(self: Any, other: object) -> Any:
    values: Callable[[Any], Any] = self._compared
    return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self._compared(self))


@recursive_repr()
def _shown(self: Any) -> str:
    parts = ", ".join("%s=%r" % (each.name, getattr(self, each.name)) for each in fields(self) if each.repr)
    return "%s(%s)" % (type(self).__qualname__, parts)


def _set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError("cannot assign to field %r" % name)


def _delete(self: object, name: str) -> None:
    raise FrozenInstanceError("cannot delete field %r" % name)


_MUTABLE: Mapping[str, Optional[Callable[..., Any]]] = {"__eq__": _equal, "__hash__": None, "__repr__": _shown}
_FROZEN: Mapping[str, Optional[Callable[..., Any]]] = {
    **_MUTABLE,
    "__hash__": _hash,
    "__setattr__": _set,
    "__delattr__": _delete,
}
