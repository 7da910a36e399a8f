"""What only models of pictures need, and SGLang names for others too: every module of it is there, and empty."""

from hollow import below

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


below(__name__, __getattr__)
