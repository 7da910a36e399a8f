"""Looking into a squashfs image by `unsquashfs`: which paths to ask for, and what the answer says.

Facts, of squashfs-tools 4.4 to 4.6: `-lls` lists paths that match, links with ` -> target`, and descends into
directories that do; names on its command line are patterns of a shell. enroot and pyxis need the program, so it is
there where they are.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from launcher.run.record import record

FOLDERS = (
    *("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"),
    *("opt/venv/bin", "opt/conda/bin", "root/.local/bin", "usr/local/cuda/bin", "busybox"),
)
"""Where programs are, beside the folders of the image's own PATH."""

PACKAGES = (
    "usr/local/lib/python3*/dist-packages",
    "usr/local/lib/python3*/site-packages",
    "usr/lib/python3*/dist-packages",
    "usr/lib/python3*/site-packages",
    "usr/lib/python3/dist-packages",
    "opt/*/lib/python3*/site-packages",
    "opt/*/*/lib/python3*/site-packages",
)
"""Where pip installs, as images do it."""

KNOWN = ("env", "ls", "dash", "bash", "busybox", "true", "cat", "python3", "sh")
"""Programs that tell the architecture, most usual first."""

TEXTS = ("etc/environment", "etc/rc", ".singularity.d/env/10-docker2singularity.sh")

_LINE = re.compile(
    r"(?P<kind>[-dlbcps])(?P<mode>[-rwxsStT]{9}) \S+\s+(?P<size>\d+)(?:,\s*\d+)? \S+ \S+ squashfs-root(?P<path>/.*|)$"
)
_PACKAGE = re.compile(r"/(?P<name>[A-Za-z0-9_.]+)-(?P<version>[0-9][^/-]*)\.dist-info(?:/METADATA)?$")
_EXPORT = re.compile(r"export (?P<name>\w+)=\"?(?:\$\{\w+:-\")?(?P<value>.*?)\"?(?:\"\})?\"?$")
SHELL = "sh"


@record
class Member:
    """A file, directory or link of an image; `path` without a slash in front."""

    path: str
    kind: str
    executable: bool
    size: int

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition("/")[2]


def patterns(programs: Iterable[str], packages: Iterable[str], path: Sequence[str] = ()) -> tuple[str, ...]:
    """The words that `unsquashfs -lls` is given. `path` are further folders where programs may be."""
    wanted = [*dict.fromkeys((*programs, *KNOWN))]
    folders = [*dict.fromkeys((*FOLDERS, *(each.strip("/") for each in path)))]
    found = [f"{folder}/{name}" for folder in folders for name in wanted if "/" not in name]
    # `python3` is often a link to `python3.12` beside it.
    found += [f"{folder}/python3.*" for folder in folders]
    found += [name.lstrip("/") for name in wanted if name.startswith("/")]
    found += _installed(PACKAGES, packages)
    return (*found, *TEXTS, "lib64/ld-linux-*", "lib/ld-linux-*", "usr/lib64/ld-linux-*", "usr/lib/ld-linux-*")


def elsewhere(folders: Iterable[str], programs: Sequence[str], packages: Sequence[str]) -> tuple[str, ...]:
    """The words for folders of an image's PATH that are in none of the usual places, and for environments there."""
    bare = [folder.strip("/") for folder in folders]
    found = [f"{folder}/{name}" for folder in bare for name in programs]
    roots = [f"{folder.removesuffix('/bin')}/lib/python3*/site-packages" for folder in bare if folder.endswith("/bin")]
    return (*found, *_installed(roots, packages))


def _installed(folders: Iterable[str], packages: Iterable[str]) -> list[str]:
    names = [re.sub(r"[-_.]+", "_", name) for name in packages]
    return [f"{folder}/{name}-*.dist-info/METADATA" for folder in folders for name in names]


def members(listing: str) -> Iterator[Member]:
    """What `unsquashfs -lls` said."""
    for line in listing.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        path = found["path"].partition(" -> ")[0] if found["kind"] == "l" else found["path"]
        yield Member(path.lstrip("/"), found["kind"], "x" in found["mode"], int(found["size"]))


def programs(found: Iterable[Member], wanted: Iterable[str]) -> tuple[str, ...]:
    """Those of `wanted` that the image has."""
    there = [each for each in found if each.kind in "-l" and (each.kind == "l" or each.executable)]
    names, paths = {each.name for each in there}, {f"/{each.path}" for each in there}
    return tuple(name for name in wanted if (name in paths if name.startswith("/") else name in names))


def versions(found: Iterable[Member], packages: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Version of each of `packages`, by the folder that pip leaves."""
    there = {}
    for each in found:
        match = _PACKAGE.search(f"/{each.path}")
        if match is not None:
            there[plain(match["name"])] = match["version"]
    return tuple((name, there[plain(name)]) for name in packages if plain(name) in there)


def plain(name: str) -> str:
    """The name of a distribution as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def samples(found: Iterable[Member]) -> tuple[str, ...]:
    """Paths of programs that tell the architecture by their first bytes: files, small ones first."""
    files = [each for each in found if each.kind == "-" and each.executable and each.size > 64]
    loader = [each for each in files if each.name.startswith("ld-linux")]
    return tuple(each.path for each in sorted(files, key=lambda each: (each not in loader, each.size))[:3])


def environment(texts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """`NAME=VALUE` of the image, by what enroot (`etc/environment`) or Apptainer (a script) keep of it."""
    found = []
    for path, text in texts:
        if path == TEXTS[0]:
            found += [line for line in text.splitlines() if re.match(r"[A-Za-z_]\w*=", line)]
        elif path == TEXTS[2]:
            found += [
                f"{match['name']}={match['value']}" for line in text.splitlines() if (match := _EXPORT.match(line))
            ]
    return tuple(found)
