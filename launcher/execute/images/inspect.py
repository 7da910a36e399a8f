"""What an image file is and holds, without unpacking it: its header, and a look by `unsquashfs` where there is one."""

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.execute.images import sif
from launcher.execute.images.failure import Failure
from launcher.execute.world import World
from launcher.images import header, look
from launcher.images.header import Header
from launcher.model.facts import Image

_SECONDS = 20.0
_TEXT = 1 << 20


@dataclass(frozen=True)
class File:
    """An image file that is whole, as far as its header tells."""

    path: Path
    header: Header
    size: int
    mtime: int


def file(path: Path) -> File:
    """The file's header, read and judged. Raises Failure: `absent`, or `faulty` for what is no whole image."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise Failure("absent", f"`{path}` does not exist", _near(path)) from None
    except OSError as error:
        raise Failure("denied", f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}") from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "no file"
            raise Failure("faulty", f"`{path}` is {what}", header.advice(what))
        head = os.pread(handle, header.HEAD, 0)
        at = header.partition(head)
        inner = os.pread(handle, 4096, at[0]) if at and at[0] >= 0 else b""
    finally:
        os.close(handle)
    try:
        return File(path, header.read(head, found.st_size, inner), found.st_size, int(found.st_mtime))
    except ValueError as error:
        raise Failure("faulty", f"`{path}` {error}", header.advice(str(error))) from error


def inspect(world: World, path: Path, programs: Sequence[str] = (), packages: Sequence[str] = ()) -> Image:
    """What the file holds; without `unsquashfs` what its header says, and of a SIF Apptainer. Raises Failure."""
    whole = file(path)
    wanted = tuple(dict.fromkeys((*programs, look.SHELL)))
    texts, sampled, listed = _looked(world, whole, look.patterns(wanted, packages))
    env = look.environment(texts)
    if listed is None:
        told = sif.inspect(world, path) if whole.header.kind == "sif" else None
        return Image(whole.size, arch=whole.header.arch, env=told.env if told else (), mtime=whole.mtime)
    outside = [folder for folder in _path(env) if folder.strip("/") not in look.FOLDERS]
    if outside:
        again = _listed(world, whole, look.elsewhere(outside, wanted, packages))
        listed = [*listed, *(again or ())]
    found = look.programs(listed, wanted)
    return Image(
        whole.size,
        arch=whole.header.arch or sampled,
        env=env,
        programs=tuple(name for name in found if name in programs),
        shell=look.SHELL in found,
        versions=look.versions(listed, packages),
        mtime=whole.mtime,
    )


def _path(env: Sequence[str]) -> list[str]:
    value = next((each.partition("=")[2] for each in env if each.startswith("PATH=")), "")
    return [folder for folder in value.split(":") if folder.startswith("/")]


def _looked(
    world: World, whole: File, patterns: Sequence[str]
) -> tuple[list[tuple[str, str]], str | None, list[look.Member] | None]:
    """Texts of the image that matter, its architecture by a program of it, and what was listed."""
    listed = _listed(world, whole, patterns)
    if listed is None:
        return [], None, None
    samples = look.samples(listed)
    texts = [each.path for each in listed if each.path in look.TEXTS and each.size <= _TEXT]
    if not samples and not texts:
        return [], None, listed
    with tempfile.TemporaryDirectory(prefix="launch-") as folder:
        root = Path(folder) / "root"
        words = ("unsquashfs", "-no-progress", "-no-xattrs", "-offset", str(whole.header.offset), "-dest", str(root))
        _run(world, (*words, str(whole.path), *samples, *texts))
        read = [(path, content) for path in texts if (content := _content(root / path, _TEXT)) is not None]
        sampled = (header.machine(_content(root / path, 64) or b"") for path in samples)
        arch = next((each for each in sampled if each is not None), None)
        return [(path, content.decode("utf-8", "surrogateescape")) for path, content in read], arch, listed


def _listed(world: World, whole: File, patterns: Sequence[str]) -> list[look.Member] | None:
    said = _run(world, ("unsquashfs", "-offset", str(whole.header.offset), "-lls", str(whole.path), *patterns))
    return None if said is None else list(look.members(said))


def _run(world: World, words: Sequence[str]) -> str | None:
    """What the program says; None where it is not here or cannot read the file (an unknown compressor)."""
    try:
        ran = world.run(words, env={**world.environ, "LC_ALL": "C", "TZ": "UTC"}, patience=_SECONDS)
    except OSError:
        return None
    return ran.out if ran.exit == 0 or "squashfs-root" in ran.out else None


def _content(path: Path, most: int) -> bytes | None:
    # A link in an image may point anywhere; it is not followed.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(handle, most)
    finally:
        os.close(handle)


def _near(path: Path) -> str:
    files = sorted(each.name for each in _siblings(path))
    if files:
        return f"`{path.parent}` has {', '.join(f'`{name}`' for name in files[:6])}"
    return 'if only compute nodes see it: `{ reference = "…", where = "compute" }`'


def _siblings(path: Path) -> Iterator[Path]:
    try:
        yield from (
            each for each in path.parent.iterdir() if each.suffix == path.suffix and not each.name.startswith(".")
        )
    except OSError:
        return
