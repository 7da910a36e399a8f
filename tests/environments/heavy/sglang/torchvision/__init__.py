"""What only models of pictures need, and SGLang names for others too: every module of it is there, and empty."""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__version__ = "0"


class Named(type):
    """A class whose members are their own names: `InterpolationMode.NEAREST`."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


def __getattr__(name: str) -> Named:
    if name.startswith("__"):
        raise AttributeError(name)
    return Named(name, (), {})


class Modules(MetaPathFinder, Loader):
    """Every module below this one is as empty as it is."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.startswith(f"{__name__}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__getattr__"] = __getattr__


sys.meta_path.insert(0, Modules())
