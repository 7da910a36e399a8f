"""The real Apptainer, unpacked into the cache: Debian has it in its newest suite only, which this machine may not be.

The suite is asked through the mirror that apt is set up with here, by a sources list of our own, so nothing on the
machine changes. Its C library comes along, and the programs are told by `patchelf` to use that one.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.testbed import cache, image
from tests.testbed.image import Image
from tests.testbed.place import SYSTEM, missing

SUITE = "sid"
PACKAGES = ("apptainer", "libc6", "libseccomp2", "libsqlite3-0")

_PROGRAMS = {
    "patchelf": "patchelf",
    "dpkg-deb": "dpkg",
    "newuidmap": "uidmap",
    "mksquashfs": "squashfs-tools",
    "squashfuse_ll": "squashfuse",
}
_FAST = ("-comp", "zstd", "-Xcompression-level", "1")


def apptainer() -> Path:
    """The program, a script for a folder of users' PATH. Raises RuntimeError where it cannot be had."""
    lacking = missing(_PROGRAMS)
    if lacking:
        message = f"Apptainer needs Debian's packages {' '.join(lacking)}"
        raise RuntimeError(message)
    parts = [SUITE, *PACKAGES, Path(__file__).read_text()]
    goal = cache.place("apptainer", parts)
    return cache.made("apptainer", parts, lambda place: _unpack(place, goal)) / "apptainer"


def sif(which: Image) -> Path:
    """The image as a `.sif`, made from the same files as its `.sqsh`."""
    program, files = apptainer(), image.root(which)
    return cache.made(f"{which.name}.sif", [program, files, *_FAST], lambda place: _build(program, files, place))


def _build(program: Path, files: Path, place: Path) -> None:
    words = [str(program), "--quiet", "build", "--mksquashfs-args", " ".join(_FAST), str(place), str(files)]
    environment = {"PATH": SYSTEM, "HOME": str(place.parent), "APPTAINER_TMPDIR": str(place.parent)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode:
        message = f"apptainer build failed: {done.stderr}"
        raise RuntimeError(message)
    place.chmod(0o644)


def _unpack(place: Path, goal: Path) -> None:
    work = place.with_name("apt")
    _download(work)
    files = place.with_name("files")
    for package in sorted(work.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, files], check=True, env={"PATH": SYSTEM})
    (files / "etc").rename(files / "usr/etc")
    libraries = next((files / "usr/lib").glob("*/libc.so.6")).parent
    (files / "usr/lib/etc").symlink_to("../etc")
    # It looks for its folders beside where it is, in two ways that do not agree.
    for above in ("usr", "usr/lib"):
        (files / above / "var/lib/apptainer/mnt/session").mkdir(parents=True)
    (loader,) = [*libraries.glob("ld-linux-*.so.*"), *(files / "usr/lib").glob("ld-linux-*.so.*")]
    for program in (files / "usr/bin/apptainer", libraries / "apptainer/bin/starter"):
        inside = {path: str(goal / path.relative_to(files)) for path in (loader, libraries)}
        words = ["--set-interpreter", inside[loader], "--force-rpath", "--set-rpath", inside[libraries]]
        subprocess.run(["patchelf", *words, program], check=True, env={"PATH": SYSTEM})
    script = files / "apptainer"
    script.write_text(f'#!/bin/sh\nexec {goal}/usr/bin/apptainer "$@"\n')
    for path in (script, files):
        path.chmod(0o755)
    files.rename(place)


def _download(work: Path) -> None:
    work.mkdir()
    for folder in ("lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True)
    keys = {"Types": "deb", **mirror(), "Suites": SUITE, "Components": "main"}
    lines = [f"{key}: {value}" for key, value in keys.items()]
    (work / "suite.sources").write_text("\n".join(lines) + "\n")
    settings = {
        "Dir::Etc::SourceList": f"{work}/suite.sources",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": f"{work}/lists",
        "Dir::Cache": f"{work}/cache",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(f"--option={key}={value}" for key, value in settings.items())]
    for words in (["update"], ["download", *PACKAGES]):
        done = subprocess.run([*apt, *words], cwd=work, capture_output=True, text=True, env={"PATH": SYSTEM})
        if done.returncode:
            message = f"apt-get {words[0]} of Debian's {SUITE} failed: {done.stderr}"
            raise RuntimeError(message)


def mirror(folder: Path = Path("/etc/apt")) -> Mapping[str, str]:
    """URIs and Signed-By of the mirror that apt has for the system's own packages. Raises RuntimeError without one."""
    for path in sorted([*folder.glob("sources.list.d/*.sources"), *folder.glob("sources.list")]):
        text = path.read_text()
        for stanza in re.split(r"\n\s*\n", text) if path.suffix == ".sources" else []:
            found = dict(re.findall(r"^(\S+):\s*(.*)$", stanza, re.MULTILINE))
            if re.search(r"/debian/?$", found.get("URIs", "").split(" ")[0]):
                return {key: found[key] for key in ("URIs", "Signed-By") if key in found}
        line = re.search(r"^deb\s+(?:\[.*?signed-by=(\S+?)[\s\]].*?)?\s*(\S+/debian/?)\s", text, re.MULTILINE)
        if line is not None:
            key = line[1] or "/usr/share/keyrings/debian-archive-keyring.gpg"
            return {"URIs": line[2], "Signed-By": key}
    message = "apt has no mirror of Debian here, from whose newest suite Apptainer is taken"
    raise RuntimeError(message)
