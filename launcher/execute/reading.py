"""Reading files that people name: nothing hangs, nothing large is taken in, every refusal says which file."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.limits import BYTES
from launcher.text.suggest import nearest

_OTHERWISE = {"it is a pipe": "pipe it in and name it `-`", "it is a directory": "name a file in it"}
_MOST = 6
"""Names of files in a help line."""

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def text(path: Path) -> str:
    """The file's text, to the byte. Raises OSError (for what is no regular file too) and UnicodeDecodeError.

    A file of more than `BYTES` is OSError with `EFBIG`, before it is read.
    """
    try:
        _regular(path.stat(), path)
    except ValueError as error:
        raise OSError(errno.EINVAL, "no path has this name", str(path)) from error
    # Without O_NONBLOCK the opening of a pipe put there since waits for somebody to write into it.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _regular(os.fstat(handle), path)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > BYTES:
        raise _large(path)
    return content.decode("utf-8")


def _regular(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((words for test, words in _KINDS if test(found.st_mode)), "no regular file")
        raise OSError(errno.EINVAL, f"it is {kind}", str(path))
    if found.st_size > BYTES:
        raise _large(path)


def _large(path: Path) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {BYTES} bytes", str(path))


def document_text(path: Path, name: str, recipes: Callable[[], Sequence[str]] = tuple) -> str:
    """The same of a document called `name`; raises Refused instead, without a place. `recipes` are the shipped ones."""
    try:
        return text(path)
    except FileNotFoundError:
        help_ = _near(path, name) or _shipped(path, recipes()) or _there(path, name)
        raise Refused([Diagnostic("file-absent", f"`{name}` does not exist", None, help=help_, exit=2)]) from None
    except OSError as error:
        raise Refused([unreadable(name, error)]) from None
    except UnicodeDecodeError as error:
        raise Refused([not_utf8(name, error)]) from None


def not_utf8(name: str, error: UnicodeDecodeError) -> Diagnostic:
    """The finding for a document whose bytes are no text."""
    return Diagnostic("not-utf-8", f"`{name}` is not UTF-8 at byte {error.start}", None, help="save it as UTF-8")


def _shipped(path: Path, recipes: Sequence[str]) -> str | None:
    stem = path.name.removesuffix(".toml")
    found = stem if stem in recipes else nearest(stem, recipes)
    return f"`{found}` alone is the shipped recipe" if found else None


def _there(path: Path, name: str) -> str:
    """A help line with what there is instead."""
    suffix = path.suffix or ".toml"
    try:
        found = sorted(other.name for other in path.parent.iterdir() if other.suffix == suffix)
    except OSError:
        return f"there is no folder `{name.removesuffix(path.name).rstrip('/')}`"
    named = ", ".join(f"`{each}`" for each in found[:_MOST]) + " …" * (len(found) > _MOST)
    return f"its folder has {named or f'no `{suffix}` file'}"


def _near(path: Path, name: str) -> str | None:
    """A help line with the file of the same folder that was perhaps meant."""
    try:
        found = nearest(path.name, [other.name for other in path.parent.iterdir()])
    except OSError:
        return None
    return f"did you mean `{name.removesuffix(path.name)}{found}`?" if found else None


def unreadable(name: str, error: OSError) -> Diagnostic:
    """The finding for a file that cannot be read."""
    if error.errno == errno.EFBIG:
        help_ = "is it the file that was meant? What is long may stand in a file of its own (`setup_file`)"
        return Diagnostic("input-too-large", f"`{name}` cannot be read: {error.strerror}", None, help=help_)
    shut = "`ls -l` shows who may read it" if isinstance(error, PermissionError) else "name another file"
    help_ = _OTHERWISE.get(error.strerror or "", shut)
    reason = error.strerror or str(error)
    return Diagnostic("file-unreadable", f"`{name}` cannot be read: {_lower(reason)}", None, help=help_, exit=2)


def _lower(phrase: str) -> str:
    return phrase[:1].lower() + phrase[1:]
