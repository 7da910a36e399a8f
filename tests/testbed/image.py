"""Images for the testbed, made on the spot out of this machine's own files: a few seconds, no download.

A root is busybox, dash and bash, with the /etc/profile of a Debian image; where asked for also the Python that runs
these tests at /usr/local, pip, distributions of this environment with what they require, and the launcher itself for
its simulated engine. Made as a `.sqsh` that is the same to the byte each time.
"""

import importlib.metadata as metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.testbed import cache
from tests.testbed.place import PROJECT, SYSTEM, missing

# What Debian's own does that matters here: the PATH of the image is gone in a login shell.
PROFILE = """\
if [ "$(id -u)" -eq 0 ]; then
  PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
else
  PATH="/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
fi
export PATH
"""

_PROGRAMS = {
    "busybox": "busybox-static",
    "mksquashfs": "squashfs-tools",
    "bash": "bash",
    "ldd": "libc-bin",
    "strip": "binutils",
}
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_SITE = f"usr/local/lib/python{_VERSION}/site-packages"
_UNWANTED = shutil.ignore_patterns(
    *("__pycache__", "test", "tests", "site-packages", "config-*", "_tkinter*", "_test*", "_ctypes_test*"),
    *("idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data"),
)


@dataclass(frozen=True)
class Image:
    """What an image holds."""

    name: str
    python: bool = False
    distributions: tuple[str, ...] = ()
    """Names of installed distributions; what they require comes along."""
    beside: str = ""
    """The environment that these are in, where they are not in the tests' own: `.venv-NAME`, made by `make setup`."""
    launcher: bool = False
    shell: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files, path → text; those below a `bin` are programs."""


TINY = Image(
    "tiny",
    environment={"PATH": "/opt/image/bin:/usr/bin:/bin", "COMMON": "from-image", "IMAGE_ONLY": "yes"},
    files={"opt/image/bin/greet": "#!/bin/sh\necho greetings\n", "usr/local/bin/usual": "#!/bin/sh\necho usual\n"},
)
"""A shell and little else: for rules of the container runtime."""

SHELLESS = Image("shellless", shell=False)
"""An image that cannot be started."""

ENTRY = Image(
    "entry",
    environment={"COMMON": "from-image"},
    files={
        "etc/rc": "mkdir -p /srv/here\ncd /srv/here || exit 1\n[ -s /etc/rc.local ] && . /etc/rc.local\n"
        'export ENTERED=yes\nexec /usr/local/bin/entry "$@"\n',
        "etc/rc.local": "",
        "srv/here/kept": "",
        "usr/local/bin/entry": '#!/bin/sh\nexport FROM_ENTRY="$#"\necho entered\nexec "$@"\n',
    },
)
"""As imported from a registry: with a working directory and an entrypoint."""

ENGINE = Image("engine", python=True, distributions=("pip",), launcher=True)
"""Python, pip and the simulated engine."""

ROUTER = Image("router", python=True, distributions=("smg",))
"""The router of the quickstart alone."""

SERVING = Image("serving", python=True, distributions=("pip", "smg"), launcher=True)
"""The same and the router of the quickstart."""


def root(image: Image) -> Path:
    """The folder with the image's files."""
    return cache.made(f"root_{image.name}", _parts(image), lambda place: _fill(image, place))


def squashfs(image: Image) -> Path:
    """The image as a `.sqsh`."""
    files = root(image)
    return cache.made(f"{image.name}.sqsh", [files, *_SQUASH], lambda place: _squash(files, place))


_SQUASH = ("-all-root", "-no-xattrs", "-mkfs-time", "0", "-all-time", "0", "-comp", "zstd", "-Xcompression-level", "1")


def _squash(files: Path, place: Path) -> None:
    words = ["mksquashfs", str(files), str(place), "-noappend", "-no-progress", "-quiet", *_SQUASH]
    subprocess.run(words, check=True, env={"PATH": SYSTEM}, stdout=subprocess.DEVNULL)


def _parts(image: Image) -> list[object]:
    lacking = missing(_PROGRAMS)
    if lacking:
        message = f"images for the testbed need Debian's packages {' '.join(lacking)}"
        raise RuntimeError(message)
    versions = [f"{each.name} {each.version}" for each in _closure(image.distributions, _path(image))]
    tree = cache.text(PROJECT / "launcher", "*.py") if image.launcher else []
    return [image, sys.version, *versions, *tree, Path(__file__).read_text()]


def _fill(image: Image, place: Path) -> None:
    if image.launcher:
        # The launcher changes every day, what lies below it does not.
        below = root(replace(image, name=f"{image.name}_below", launcher=False))
        subprocess.run(["cp", "--archive", "--link", below, place], check=True)
        shutil.copytree(PROJECT / "launcher", place / _SITE / "launcher", ignore=shutil.ignore_patterns("__pycache__"))
        _compile(place, place / _SITE / "launcher")
        return
    for folder in ("usr/bin", "usr/lib", "usr/local/bin", "etc", "root", "proc", "sys", "dev", "tmp", "run", "var"):
        (place / folder).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (place / name).symlink_to("usr/bin" if "bin" in name else "usr/lib")
    (place / "var/run").symlink_to("../run")
    (place / "tmp").chmod(0o1777)
    if image.shell:
        _programs(place)
    if image.python:
        _python(place)
    if image.distributions:
        _distributions(place, image)
    _etc(image, place)
    _libraries(place)
    if image.python:
        own = [
            *(place / "usr/local/lib").glob("libpython*"),
            *place.glob(f"usr/local/lib/python{_VERSION}/lib-dynload/*"),
        ]
        subprocess.run(["strip", "--strip-unneeded", *own], check=True, env={"PATH": SYSTEM})
        _compile(place, place / f"usr/local/lib/python{_VERSION}")


def _compile(place: Path, folder: Path) -> None:
    """Compile all modules so that their age does not matter: in a `.sqsh` all files are as old as each other."""
    words = [sys.executable, "-m", "compileall", "-q", "-f", "-j2", "--invalidation-mode=unchecked-hash"]
    # Some of the standard library's own samples do not compile, and need not.
    subprocess.run([*words, "-s", place, "-p", "/", folder], stdout=subprocess.DEVNULL)


def _programs(place: Path) -> None:
    binary = place / "usr/bin/busybox"
    shutil.copy2(_which("busybox"), binary)
    applets = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for applet in set(applets) - {"busybox", "sh", "bash"}:
        (place / "usr/bin" / applet).symlink_to("busybox")
    shutil.copy2(_which("bash"), place / "usr/bin/bash")
    shutil.copy2(_which("dash"), place / "usr/bin/sh")


def _which(name: str) -> str:
    found = shutil.which(name, path=SYSTEM)
    assert found is not None, name
    return found


def _python(place: Path) -> None:
    base = Path(sys.base_prefix)
    program = place / "usr/local/bin/python3"
    shutil.copy2(Path(sys.executable).resolve(), program)
    for name in ("python", f"python{_VERSION}"):
        program.with_name(name).symlink_to("python3")
    library = base / f"lib/python{_VERSION}"
    shutil.copytree(library, place / f"usr/local/lib/python{_VERSION}", ignore=_UNWANTED, symlinks=True)
    (place / _SITE).mkdir(exist_ok=True)


def _path(image: Image) -> list[str]:
    """Where the image's distributions are looked for."""
    if not image.beside:
        return sys.path
    return [str(PROJECT / f".venv-{image.beside}/lib/python{_VERSION}/site-packages")]


def _closure(names: Iterable[str], path: list[str]) -> list[metadata.Distribution]:
    """The distributions called `names` and all they require, without extras, each once."""
    found: dict[str, metadata.Distribution] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        try:
            found[name] = next(iter(metadata.distributions(name=name, path=path)))
        except StopIteration:
            message = f"images for the testbed need the distribution {name}; `make setup` installs it"
            raise RuntimeError(message) from None
        needs = [need for need in found[name].requires or [] if "extra ==" not in need]
        there = [(match.group().lower(), need) for need in needs if (match := re.match(r"[\w.-]+", need))]
        wanted += [other for other, need in there if _applies(other, need, path)]
    return [found[name] for name in sorted(found)]


def _applies(name: str, need: str, path: list[str]) -> bool:
    """Whether a requirement is for this Python: one under a condition counts where it is installed."""
    return ";" not in need or any(metadata.distributions(name=name, path=path))


def _distributions(place: Path, image: Image) -> None:
    for each in _closure(image.distributions, _path(image)):
        for file in each.files or []:
            source = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and source.is_file():
                target = place / _SITE / Path(*file.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        for script in each.entry_points.select(group="console_scripts"):
            lines = f"import sys\nfrom {script.module} import {script.attr}\nsys.exit({script.attr}())\n"
            program = place / "usr/local/bin" / script.name
            program.write_text(f"#!/usr/local/bin/python3\n{lines}")
            program.chmod(0o755)


def _etc(image: Image, place: Path) -> None:
    files = {
        "etc/environment": "".join(f"{name}={value}\n" for name, value in image.environment.items()),
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
        "etc/group": "root:x:0:\n",
        "etc/profile": PROFILE,
        **image.files,
    }
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
        if Path(path).parent.name == "bin":
            (place / path).chmod(0o755)


def _libraries(place: Path) -> None:
    """Copy the shared libraries of everything in the root, and let its loader find them."""
    found: set[Path] = set()
    files = [path for path in place.rglob("*") if path.is_file() and not path.is_symlink() and _elf(path)]
    for start in range(0, len(files), 100):
        found |= set(_needed(files[start : start + 100], place))
    for library in found:
        folder = "usr/local/lib" if library.is_relative_to(sys.base_prefix) else f"usr/lib{_below_lib(library)}"
        (place / folder).mkdir(parents=True, exist_ok=True)
        if not (place / folder / library.name).exists():
            shutil.copy2(library.resolve(), place / folder / library.name)
    folders = ["/usr/local/lib", *(f"/usr/lib/{path.name}" for path in (place / "usr/lib").iterdir() if path.is_dir())]
    (place / "etc/ld.so.conf").write_text("\n".join(folders) + "\n")
    subprocess.run(["ldconfig", "-r", str(place)], check=True, env={"PATH": SYSTEM})


def _below_lib(library: Path) -> str:
    """`/x86_64-linux-gnu` of a library in /lib/x86_64-linux-gnu, nothing for the loader in /lib64."""
    return "" if library.parent.name in ("lib", "lib64") else f"/{library.parent.name}"


def _needed(files: list[Path], place: Path) -> Iterator[Path]:
    said = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, env={"PATH": SYSTEM}).stdout
    for found in re.findall(r"(?:=>\s*|^\t)(/\S+) \(0x", said, re.MULTILINE):
        if not Path(found).is_relative_to(place):
            yield Path(found)


def _elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
