"""Wheels to harvest: a program whose parser wants what is not there."""

import sys
import zipfile
from pathlib import Path

import pytest

from launcher.execute import wheel

# A program whose parser is read by functions and classes of its own, and which imports what is not there.
SERVER = """
import dataclasses, enum, pydantic
import gigantic.ops
from gigantic import Layer, jit
from pydantic import field_validator

class Mode(enum.IntEnum):
    OFF = 0
    FAST = 3

@pydantic.dataclasses.dataclass(config={"extra": "forbid"})
class Inner:
    size: int = pydantic.Field(default=1, ge=1, lt=9)

@pydantic.dataclasses.dataclass(config={"extra": "forbid"})
class Config:
    role: "str | None" = None
    mode: Mode = Mode.OFF
    inner: Inner | None = None
    parts: list[float] = dataclasses.field(default_factory=list)
    made: int = dataclasses.field(init=False, default=0)

    @field_validator("mode", mode="before")
    @classmethod
    def _named(cls, value):
        return Mode[value.upper()] if isinstance(value, str) else value

class Attention(Layer):
    @jit
    def forward(self): return gigantic.ops.fast(self) + 1

def optional(inner):
    def read(text): return None if text == "None" else inner(text)
    return read

def config(text, cls=Config): return pydantic.TypeAdapter(cls).validate_json(text)

PARSERS = {"b": 1, "a": 2}
if gigantic.cuda.is_available(): raise AssertionError("answered wrongly")

def fill(parser):
    parser.add_argument("--config", type=optional(config))
    parser.add_argument("--limit", type=optional(int), choices=[1, 2, None])
    parser.add_argument("--parser")
    return parser
"""


def packed(folder: Path, name: str = "server", text: str = SERVER, metadata: str = "") -> Path:
    """A wheel of the program."""
    path = folder / f"{name}-2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", text)
        archive.writestr(f"{name}.so", b"compiled")
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n"
        archive.writestr(f"{name}-2.0.dist-info/METADATA", head + metadata)
    return path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Path:
    """pydantic, as `needs` would install it."""
    here = Path(next(entry for entry in sys.path if (Path(entry) / "pydantic").is_dir()))
    monkeypatch.setattr(wheel, "support", lambda packages, folder: here)
    return here
