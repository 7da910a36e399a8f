"""SGLang's kernels on a machine without GPUs, of which there are no builds: to name one is fine, to call one is not.

A dense Llama on CPUs calls none: each layer has a way of its own in PyTorch. PyTorch's builds for CPUs have no streams,
events or pinned memory either, which SGLang asks for whatever the device is.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from hollow import below


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


below(__name__, __getattr__)
if not torch.cuda.is_available():
    torch.cuda.Event = torch.cuda.Stream = torch.cuda.current_stream = Nothing
    torch.Tensor.pin_memory = lambda tensor, *words, **values: tensor
    for each in MADE:
        setattr(torch, each, pageable(getattr(torch, each)))
