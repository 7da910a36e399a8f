"""Packages that are there in name alone: every module below one has what the package itself has."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Modules(MetaPathFinder, Loader):
    """The modules below a package; `found` is the `__getattr__` of each."""

    def __init__(self, package: str, found: Callable[[str], Any]) -> None:
        self._below = f"{package}."
        self._found = found

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.startswith(self._below) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__getattr__"] = self._found


def below(package: str, found: Callable[[str], Any]) -> None:
    """Every module below the package can be imported."""
    sys.meta_path.insert(0, Modules(package, found))
