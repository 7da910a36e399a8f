"""A program's Python source from its wheel, and the few packages its parser cannot do without.

Everything is fetched by pip, as this user has set it up, and kept in the user's cache: the source of a version is
fetched once, without the compiled parts that make a wheel large.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from launcher.text.diagnostic import Diagnostic, Refused

_WHEEL = re.compile(r"[^-/]+-[^-/]+(-[^-/]+){3,4}\.whl")
_HOMELESS = "neither `XDG_CACHE_HOME` nor `HOME` is a directory"
PYTHON = "3.12"
"""Whose wheels are taken where there is one for each Python; only their source is read."""


def cache(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's cache of sources. Raises Refused where the environment names no place for one."""
    own, home = environment.get("XDG_CACHE_HOME", ""), environment.get("HOME", "")
    if own.startswith("/"):
        return Path(own) / "launch" / "sources"
    if home.startswith("/"):
        return Path(home) / ".cache" / "launch" / "sources"
    raise Refused([Diagnostic("harvest-failed", _HOMELESS, None, help="set one of them", exit=1)])


def unpacked(distribution: str, version: str | None, folder: Path, *, whole: bool = False) -> Path:
    """The folder with the source of that version, or of the newest; the `whole` wheel, where its compiled part is
    wanted too. Raises Refused where pip cannot fetch it.
    """
    if version is not None and (kept := folder / _name(distribution, version, whole=whole)).is_dir():
        return kept
    # A compiled part must be one for this Python; source may be anyone's.
    python = () if whole else (f"--python-version={PYTHON}",)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as place:
        wanted = distribution if version is None else f"{distribution}=={version}"
        pip("download", "--no-deps", "--only-binary=:all:", *python, f"--dest={place}", wanted)
        return extracted(next(Path(place).glob("*.whl")), folder, whole=whole)


def _name(distribution: str, version: str, *, whole: bool) -> str:
    return f"{distribution.replace('_', '-')}-{version}{'-whole' * whole}"


def extracted(wheel: Path, folder: Path, *, whole: bool = False) -> Path:
    """The folder below `folder` with what is in `wheel`: its Python source, and the metadata that has its version.

    Raises Refused for what is no wheel.
    """
    if not (_WHEEL.fullmatch(wheel.name) and zipfile.is_zipfile(wheel)):
        state = "is no wheel" if wheel.exists() else "does not exist"
        help_ = "name a `.whl` file, or the folder that one was unpacked to"
        raise Refused([Diagnostic("harvest-failed", f"`{wheel}` {state}", None, help=help_, exit=1)])
    kept = folder / _name(*wheel.name.split("-")[:2], whole=whole)
    if kept.is_dir():
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=folder, prefix="unpack-"))
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if whole or name.endswith((".py", ".dist-info/METADATA"))]
        archive.extractall(place, names)
    try:
        place.rename(kept)
    except OSError:
        # Somebody else was faster.
        shutil.rmtree(place)
    return kept


def pinned(tree: Path, distributions: Sequence[str]) -> list[tuple[str, str]]:
    """What the unpacked wheel `tree` runs, each with the version that its metadata pins, for whatever extra.

    Raises Refused where it pins none.
    """
    texts = [path.read_text(encoding="utf-8") for path in tree.glob("*.dist-info/METADATA")]
    found = []
    for name in distributions:
        pattern = rf"(?m)^Requires-Dist: {re.escape(name)} *(?:\[[^]]*\])? *\(?==([^\s,;)]+)"
        match = next((match for text in texts for match in [re.search(pattern, text)] if match), None)
        if match is None:
            message = f"the metadata of `{tree.name}` pins no version of {name}"
            raise Refused([Diagnostic("harvest-failed", message, None, exit=1)])
        found.append((name, match[1]))
    return found


def support(packages: Sequence[str], folder: Path) -> Path:
    """The folder with these packages, for the Python that runs this. Raises Refused where pip cannot install them."""
    mark = hashlib.sha256(repr((sys.version_info[:2], sorted(packages))).encode()).hexdigest()[:12]
    kept = folder / f"support-{mark}"
    if kept.is_dir():
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=folder, prefix="install-"))
    pip("install", f"--target={place}", *packages) if packages else None
    try:
        place.rename(kept)
    except OSError:
        shutil.rmtree(place)
    return kept


def pip(verb: str, *words: str) -> None:
    """Runs pip. Raises Refused with its last line where it fails."""
    command = [sys.executable, "-m", "pip", verb, "--quiet", "--disable-pip-version-check", "--no-input", *words]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["pip said nothing"]
        message = f"pip cannot {verb} `{words[-1]}`: {said[-1]}"
        raise Refused([Diagnostic("harvest-failed", message, None, exit=1)])
