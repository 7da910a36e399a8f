"""Modules that are not there, made up so that a program's parser can be imported without what it serves with.

A program's wheel names torch, transformers and a hundred others on the way to its command line and uses them
there for hardly more than type annotations and decorators. Only modules that code of the program itself asks
for are made up: other libraries probe for optional companions, and must not find any.
"""

# ruff: noqa: SLF001, the frame says who asks

import abc
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
from typing import Any

OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow neg and rand or ror xor lshift rshift invert matmul"
)
ANSWERS: dict[str, Any] = {}
"""Dotted name → what it is, where anything made up would not do."""
ABSENT: set[str] = set()
"""Dotted names of modules and attributes that nothing has."""


def _dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _decorated(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call looks like a decorator's: one function or class of the program's own."""
    if len(args) != 1 or kwargs:
        return False
    made_up = isinstance(args[0], type) and "_made_up" in vars(args[0])
    return isinstance(args[0], (types.FunctionType, type)) and not made_up


class Meta(abc.ABCMeta):
    """Class of the classes that are made up; what is done with a class that is not there does nothing.

    Of ABCMeta, so that a program's class can have a made-up and an abstract base.
    """

    def __getattr__(cls, name: str) -> Any:
        if _dunder(name) and name != "__version__":
            raise AttributeError(name)
        return fabricate(cls, name, cls.__module__, f"{cls.__qualname__}.{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_made_up" in vars(cls) and _decorated(args, kwargs):
            return args[0]
        return super().__call__(*args, **kwargs)

    def register(cls, *args: Any, **kwargs: Any) -> Any:
        """`AutoConfig.register(name, class)` and the like."""
        return args[0] if len(args) == 1 else Stub()

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __setitem__(cls, item: Any, value: Any) -> None:
        return

    def __iter__(cls) -> Any:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __contains__(cls, item: Any) -> bool:
        return False

    def __int__(cls) -> int:
        return 0

    def __index__(cls) -> int:
        return 0

    def __float__(cls) -> float:
        return 0.0

    def __lt__(cls, other: Any) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__


class Stub(metaclass=Meta):
    """Base of the classes that are made up, and their instances."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        return

    def __init_subclass__(cls, **kwargs: Any) -> None:
        return

    def __getattr__(self, name: str) -> Any:
        if _dunder(name):
            raise AttributeError(name)
        made = type(self)
        return fabricate(self, name, made.__module__, f"{made.__qualname__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if _decorated(args, kwargs) else Stub()

    def __getitem__(self, item: Any) -> Any:
        return Stub()

    def __setitem__(self, item: Any, value: Any) -> None:
        return

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: object) -> None:
        return

    def __int__(self) -> int:
        return 0

    def __index__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 0.0

    def __lt__(self, other: Any) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return {"type": "any"}


def _nothing(self: Any, *args: Any) -> Any:
    return Stub()


for _name in OPERATORS.split():
    # `A | B` of two classes stays a union type.
    for _owner in (Stub,) if _name in {"or", "ror"} else (Stub, Meta):
        setattr(_owner, f"__{_name}__", _nothing)


def fabricate(owner: Any, name: str, module: str, qualname: str) -> Any:
    """The attribute `name` of something made up: what `ANSWERS` says, else one more class."""
    full = f"{module}.{qualname}"
    made = ANSWERS[full] if full in ANSWERS else Meta(name, (Stub,), _namespace(module, qualname))
    setattr(owner, name, made)
    return made


def _namespace(module: str, qualname: str) -> dict[str, Any]:
    return {"__module__": module, "__qualname__": qualname, "_made_up": True}


class Module(types.ModuleType):
    """A module that is not there."""

    def __getattr__(self, name: str) -> Any:
        if f"{self.__name__}.{name}" in ABSENT:
            raise AttributeError(name)
        if f"{self.__name__}.{name}" not in ANSWERS:
            if name == "__file__":
                return "/nowhere"
            if name == "__version__":
                return "99.0"
            if _dunder(name):
                raise AttributeError(name)
        return fabricate(self, name, self.__name__, name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nothing else has found, where code below one of `roots` asks for it."""

    def __init__(self, roots: Any) -> None:
        self.roots = tuple(roots)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A made-up module, or None."""
        parent = sys.modules.get(name.rpartition(".")[0])
        if name in ABSENT:
            return None
        if not isinstance(parent, Module) and not self.asked():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def asked(self) -> bool:
        """Whether the import that is going on stands in the program's own code."""
        frame: Any = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            # Whoever asks whether a module exists is told the truth.
            if file.endswith("importlib/util.py"):
                return False
            if not file.startswith("<frozen importlib") and not file.endswith("importlib/__init__.py"):
                return bool(file.startswith(self.roots))
            frame = frame.f_back
        return False

    def create_module(self, spec: Any) -> types.ModuleType:
        """The module, empty."""
        made = Module(spec.name)
        made.__path__ = []
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is run."""


class Forced(Finder):
    """Finds modules that are there and must not be used: those named, and all below them."""

    def __init__(self, roots: Any, names: Any) -> None:
        super().__init__(roots)
        self.names = frozenset(names)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A made-up module for a name that is forced, else None."""
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name in self.names else None


def install(roots: Any, answers: Any, forced: Any, absent: Any) -> None:
    """From now on imports below `roots` find everything but what is `absent`.

    Modules that are `forced` are made up though they are there. A name in `answers` that ends in `()` is a function's.
    """
    for name, value in answers.items():
        ANSWERS[name.removesuffix("()")] = _constant(value) if name.endswith("()") else value
    sys.meta_path.insert(0, Forced(roots, forced))
    ABSENT.update(absent)
    sys.meta_path.append(Finder(roots))
    real = importlib.metadata.version

    def version(distribution_name: str) -> str:
        try:
            return real(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            return "99.0"

    importlib.metadata.version = version


def _constant(value: Any) -> Any:
    return lambda *args, **kwargs: value
