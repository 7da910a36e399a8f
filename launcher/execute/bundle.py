"""Programs as one file: a zip archive that a Python of any architecture runs.

`run.pyz` is the supervisor, for Python 3.9 or newer; `sim.pyz` the simulated engine, for rehearsals; `convert.pyz`
makes image files of layers.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import launcher.run

# The earliest date a zip archive can hold: the same sources give the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
_ENTRY = "__main__.py"


def bundle() -> bytes:
    """The supervisor. Raises OSError where the package's sources cannot be read."""
    return _archive(Path(launcher.run.__file__).parent)


def simulator() -> bytes:
    """The simulated engine. Raises OSError where the package's sources cannot be read."""
    return _archive(Path(launcher.run.__file__).parents[1] / "sim")


CONVERTER = (
    *("execute/images/convert", "execute/images/failure", "execute/images/flatten", "execute/images/squash"),
    *("execute/images/unpack", "images/layering", "images/oci", "run/record"),
)
"""The modules of `convert.pyz`; like the supervisor they are for Python 3.9 and import the standard library alone."""


def converter() -> bytes:
    """The program of `execute.images.convert`. Raises OSError where the package's sources cannot be read."""
    root = Path(launcher.run.__file__).parents[1]
    members = {f"launcher/{name}.py": (root / f"{name}.py").read_bytes() for name in CONVERTER}
    folders = {str(Path(name).parent) for name in members} | {"launcher", "launcher/execute"}
    members |= {f"{folder}/__init__.py": b"" for folder in folders}
    entry = b"import sys\nfrom launcher.execute.images.convert import main\nsys.exit(main(sys.argv[1:]))\n"
    return _zipped({**members, _ENTRY: entry})


def _archive(folder: Path) -> bytes:
    """A package of the launcher, with its `__main__` as that of the archive."""
    sources = {path.name: path.read_bytes() for path in folder.glob("*.py")}
    members = {f"launcher/{folder.name}/{name}": content for name, content in sources.items() if name != _ENTRY}
    return _zipped({**members, "launcher/__init__.py": b"", _ENTRY: sources[_ENTRY]})


def _zipped(members: Mapping[str, bytes]) -> bytes:
    written = io.BytesIO()
    # Stored, not deflated: a Python without zlib reads it too, and zlib's versions differ in their output.
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _DATE)
            member.create_system = 3
            member.external_attr = 0o644 << 16
            archive.writestr(member, members[name])
    return written.getvalue()
