"""SGLang's kernels on a machine without GPUs, of which there are no builds: to name one is fine, to call one is not.

A dense Llama on CPUs calls none: each layer has a way of its own in PyTorch. PyTorch's builds for CPUs have no streams,
events or pinned memory either, which SGLang asks for whatever the device is.
"""

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch


class Kernel:
    """A kernel, or a part of one; it has parts of any name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *words: Any, **values: Any) -> None:
        raise RuntimeError(f"sgl_kernel.{self._name} needs a GPU")

    def __getattr__(self, name: str) -> "Kernel":
        if name.startswith("__"):
            raise AttributeError(name)
        return Kernel(f"{self._name}.{name}")


def __getattr__(name: str) -> Kernel:
    if name.startswith("__"):
        raise AttributeError(name)
    return Kernel(name)


class Modules(MetaPathFinder, Loader):
    """Every module below this one has kernels of any name too."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.startswith(f"{__name__}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__getattr__"] = __getattr__


class Nothing:
    """A stream or an event where there are none: all that is asked of it is done."""

    def __init__(self, *words: Any, **values: Any) -> None:
        """Whatever it is told."""

    def __getattr__(self, name: str) -> Any:
        return lambda *words, **values: None


MADE = ("arange", "empty", "empty_like", "empty_strided", "full", "ones", "tensor", "zeros", "zeros_like")


def pageable(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes tensors, whether or not it is asked for pinned ones."""

    @wraps(make)
    def made(*words: Any, **values: Any) -> Any:
        values.pop("pin_memory", None)
        return make(*words, **values)

    return made


sys.meta_path.insert(0, Modules())
if not torch.cuda.is_available():
    torch.cuda.Event = torch.cuda.Stream = torch.cuda.current_stream = Nothing
    torch.Tensor.pin_memory = lambda tensor, *words, **values: tensor
    for each in MADE:
        setattr(torch, each, pageable(getattr(torch, each)))
