"""Run directories as releases wrote them, with all that a run needs: its supervisor of then, its plan, its files.

    python -m tests.end.releases RUN NAME

freezes a run directory as `tests/end/releases/NAME`, once a release. The run was made of the recipe in
`tests/end/releases/mine.toml` with `--set ports.public=64999`.
"""

import io
import shutil
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).with_name("releases")
RELEASES = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "manifests")
PORT = "64999"
ARCHIVE = "run.pyz"
_KEPT = ("plan.json", "script.json", "slots.json", ARCHIVE)


def freeze(run: Path, name: str) -> None:
    """Keeps what the run directory held before its run was started; what is of one machine becomes `@NAME@`."""
    kept = ROOT / name
    kept.mkdir()
    for path in (*map(run.joinpath, _KEPT), *(run / "recipe").iterdir()):
        place = kept / path.relative_to(run)
        place.parent.mkdir(exist_ok=True)
        if path.name == ARCHIVE:
            place.write_bytes(_packed(path, zipfile.ZIP_DEFLATED))
        else:
            text = path.read_text(encoding="utf-8")
            place.write_text(text.replace(str(run), "@RUN@").replace(sys.executable, "@PYTHON@"), encoding="utf-8")


def thaw(name: str, run: Path, port: int) -> None:
    """Writes the run directory of that release: the run as it was before it was started, on another port."""
    shutil.copytree(ROOT / name, run, copy_function=shutil.copyfile)
    for path in (path for path in run.rglob("*") if path.is_file()):
        if path.name == ARCHIVE:
            path.write_bytes(_packed(path, zipfile.ZIP_STORED))
        else:
            text = path.read_text(encoding="utf-8").replace(PORT, str(port))
            path.write_text(text.replace("@RUN@", str(run)).replace("@PYTHON@", sys.executable), encoding="utf-8")
    for reserve, size in ((".outcome", 32768), (".stop", 4096)):
        (run / reserve).write_bytes(b" " * size)
    (run / "lock").write_bytes(b"{}".ljust(511) + b"\n")
    Path(run).chmod(0o700)


def _packed(path: Path, how: int) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(written, "w", how) as new:
        for member in old.infolist():
            again = zipfile.ZipInfo(member.filename, member.date_time)
            again.external_attr = member.external_attr
            new.writestr(again, old.read(member), how)
    return written.getvalue()


if __name__ == "__main__":
    freeze(Path(sys.argv[1]).resolve(), sys.argv[2])
