"""The first bytes of an image file: what it is, whether all of it is there, and what else people put in its place.

Facts: squashfs 4.0 as mksquashfs 4.5.1 writes it (a superblock of 96 bytes, tables at the end), SIF of Apptainer 1.4.5
(a header of 128 bytes, descriptors of 585). A Git LFS pointer is a text that begins with its version.
"""

import struct
from typing import Literal

from launcher.images.oci import architecture
from launcher.run.record import record

HEAD = 65536
"""Bytes from the start of a file that tell all there is to know here."""

_SQUASHFS = struct.Struct("<4s4I6H8Q")
_COMPRESSORS = {1: "gzip", 2: "lzma", 3: "lzo", 4: "xz", 5: "lz4", 6: "zstd"}
_SIF_MAGIC, _SIF_AT = b"SIF_MAGIC\0", 32
_SIF = struct.Struct("<3s3s16s8q")
_DESCRIPTOR_BYTES = 585
_PARTITION, _SQUASHFS_TYPE, _PRIMARY = 0x4004, 1, 2
_EXTRA = 201
# Apptainer's numbers of architectures (sif/pkg/sif, arch.go).
_SIF_ARCHES = {b"02": "amd64", b"04": "arm64", b"06": "ppc64le", b"11": "s390x"}

_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself"),
    (b"\x1f\x8b", "a gzip archive, perhaps of `docker save`"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x7fELF", "a program"),
    (b"<!DOCTYPE", "a web page"),
    (b"<html", "a web page"),
    (b"#!", "a script"),
)

_ADVICE = (
    *((mark, "import it again") for mark in ("truncated", "zeros", "empty")),
    ("Git LFS", "`git lfs pull` fetches it"),
    ("docker save", "`docker push` it, and import what was pushed"),
    ("folder", "`apptainer build FILE.sif FOLDER` makes an image file of one that holds a root"),
    ("", "an image file is made by importing what a registry has"),
)
"""A word of what is wrong with a file → what to do."""


@record
class Header:
    """What an image file says of itself. `offset` is where its squashfs begins, `size` what the file should have.

    `arch` is told by SIF alone; `made` in seconds since the epoch.
    """

    kind: Literal["squashfs", "sif"]
    size: int
    compressor: str
    made: int
    offset: int = 0
    arch: str | None = None


def read(head: bytes, size: int, inner: bytes = b"") -> Header:
    """What a file of `size` bytes that begins with `head` is.

    Of a SIF, `inner` is what begins at `partition(head)`. Raises ValueError with a phrase that follows "the file":
    "is a text file".
    """
    if head[:4] == b"hsqs":
        return _squashfs(head, size)
    if sif(head):
        return _sif(head, size, inner)
    raise ValueError(other(head, size))


def sif(head: bytes) -> bool:
    """Whether a file that begins so is a SIF."""
    return head[_SIF_AT : _SIF_AT + len(_SIF_MAGIC)] == _SIF_MAGIC


def other(head: bytes, size: int) -> str:
    """A file that is no image, in words."""
    if size == 0:
        return "is empty"
    for start, words in _OTHERS:
        if head.startswith(start):
            return f"is {words}"
    if head[257:262] == b"ustar":
        return "is a tar archive, perhaps of `docker save`"
    if not head.strip(b"\0"):
        return "begins with nothing but zeros: an import that never ended"
    try:
        head[:1024].decode("ascii")
    except ValueError:
        return "is neither a squashfs image nor a SIF"
    return "is a text file"


def advice(wrong: str) -> str:
    """What to do about a file of which `wrong` is said."""
    return next(words for mark, words in _ADVICE if mark in wrong)


def _squashfs(head: bytes, size: int) -> Header:
    if len(head) < _SQUASHFS.size:
        raise ValueError(f"is truncated: it ends after {size} bytes, inside its superblock")
    _, inodes, made, block, _, compressor, log, _, _, major, minor, _, used, *tables = _SQUASHFS.unpack_from(head)
    if (major, minor) != (4, 0):
        raise ValueError(f"is squashfs {major}.{minor}, and 4.0 is read")
    if log > 20 or 1 << log != block or not inodes or compressor not in _COMPRESSORS:
        raise ValueError("begins like a squashfs image and goes on as none")
    if size < used:
        raise ValueError(f"is truncated: it has {size} bytes of {used}, so an import or a copy of it was cut short")
    if any(used < table < 0xFFFFFFFFFFFFFFFF for table in tables):
        raise ValueError("begins like a squashfs image and goes on as none")
    return Header("squashfs", used, _COMPRESSORS[compressor], made)


def partition(head: bytes) -> tuple[int, int] | None:
    """Offset and size of a SIF's root file system; None for what is no SIF, or has none."""
    if not sif(head) or len(head) < _SIF_AT + 10 + _SIF.size:
        return None
    *_, total, at, length, _, _ = _SIF.unpack_from(head, _SIF_AT + 10)
    for number in range(max(0, min(total, length // _DESCRIPTOR_BYTES, 256))):
        start = at + number * _DESCRIPTOR_BYTES
        if at < 0 or start + _DESCRIPTOR_BYTES > len(head):
            return None
        kind, used, _, _, _, offset, size = struct.unpack_from("<i?IIIqq", head, start)
        extra = struct.unpack_from("<ii", head, start + _EXTRA)
        if used and kind == _PARTITION and extra == (_SQUASHFS_TYPE, _PRIMARY):
            return offset, size
    return None


def _sif(head: bytes, size: int, inner: bytes) -> Header:
    found = partition(head)
    if found is None:
        raise ValueError(_rootless(head, size))
    offset, length = found
    if offset < 0 or length < 0 or offset + length > size:
        raise ValueError(f"is truncated: it has {size} bytes of {offset + length}, so a copy of it was cut short")
    try:
        root = _squashfs(inner, length)
    except ValueError as error:
        raise ValueError(f"is a SIF whose root {error}") from None
    _, arch, _, made, *_ = _SIF.unpack_from(head, _SIF_AT + 10)
    name = _SIF_ARCHES.get(arch[:2])
    known = architecture(name) if name else None
    return Header("sif", offset + length, root.compressor, made, offset, known)


def _rootless(head: bytes, size: int) -> str:
    """A SIF whose list of parts has no root file system, perhaps because it ends before."""
    if len(head) < _SIF_AT + 10 + _SIF.size:
        return f"is truncated: it ends after {size} bytes, inside its header"
    *_, data, length = _SIF.unpack_from(head, _SIF_AT + 10)
    if size < data + length:
        return f"is truncated: it has {size} bytes of {data + length}, so a copy of it was cut short"
    return "is a SIF without a root file system"


def machine(elf: bytes) -> str | None:
    """The architecture of a program by the first bytes of its file; None for what is none."""
    if elf[:4] != b"\x7fELF" or len(elf) < 20:
        return None
    number = int.from_bytes(elf[18:20], "little" if elf[5] == 1 else "big")
    return _MACHINES.get(number, f"machine {number} of ELF")


_MACHINES = {
    0x3E: "x86_64",
    0xB7: "aarch64",
    0x15: "ppc64le",
    0x16: "s390x",
    0xF3: "riscv64",
    0x28: "arm",
    0x03: "i386",
}
