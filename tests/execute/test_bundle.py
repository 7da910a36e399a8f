"""The archive that travels: sources alone, the same bytes each time."""

import io
import zipfile
from pathlib import Path

import launcher.run
from launcher.execute.bundle import bundle


def test_the_same_bytes_each_time() -> None:
    assert bundle() == bundle()


def test_holds_the_supervisor_and_nothing_else() -> None:
    folder = Path(launcher.run.__file__).parent
    with zipfile.ZipFile(io.BytesIO(bundle())) as archive:
        assert archive.testzip() is None
        found = {member.filename: archive.read(member) for member in archive.infolist()}
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    wanted = {f"launcher/run/{path.name}": path.read_bytes() for path in folder.glob("*.py")}
    wanted["__main__.py"] = wanted.pop("launcher/run/__main__.py")
    assert found == {**wanted, "launcher/__init__.py": b""}
