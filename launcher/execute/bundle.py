"""Programs as one file: a zip archive that a Python of any architecture runs.

`run.pyz` is the supervisor, for Python 3.9 or newer; `sim.pyz` the simulated engine, for rehearsals.
"""

import io
import zipfile
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


def _archive(folder: Path) -> bytes:
    """A package of the launcher, with its `__main__` as that of the archive."""
    sources = {path.name: path.read_bytes() for path in folder.glob("*.py")}
    members = {f"launcher/{folder.name}/{name}": content for name, content in sources.items() if name != _ENTRY}
    members |= {"launcher/__init__.py": b"", _ENTRY: sources[_ENTRY]}
    written = io.BytesIO()
    # Stored, not deflated: a Python without zlib reads it too, and zlib's versions differ in their output.
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _DATE)
            member.create_system = 3
            member.external_attr = 0o644 << 16
            archive.writestr(member, members[name])
    return written.getvalue()
