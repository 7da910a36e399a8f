"""Secrets in what they are made into: as they are, or as base64, hexadecimal or a part of a URL has them."""

import base64
import re
from collections.abc import Iterator

_BETWEEN = re.compile(r"[\s:]+")
_QUOTED = re.compile(rb"%([0-9A-Fa-f]{2})")
_URL_SAFE = str.maketrans("-_", "+/")


def inside(secret: str, text: str) -> bool:
    """Whether the text has the secret in it, or what gives it back by a common encoding."""
    raw = secret.encode("utf-8", "surrogateescape")
    # Programs break long lines of base64, and put colons between bytes of hexadecimal.
    joined = _BETWEEN.sub("", text)
    return (
        any(raw in each for each in _unquoted(text))
        or raw.hex() in joined.lower()
        or any(form in joined.translate(_URL_SAFE) for form in _base64(raw))
    )


def _unquoted(text: str) -> Iterator[bytes]:
    """The text as it is, and as parts of URLs mean it, blanks as they are or as forms have them."""
    whole = text.encode("utf-8", "surrogateescape")
    yield whole
    for each in (whole, whole.replace(b"+", b" ")):
        yield _QUOTED.sub(lambda found: bytes.fromhex(found[1].decode("ascii")), each)


def _base64(raw: bytes) -> Iterator[str]:
    """What it is in base64: the letters that are of its bits alone, for each place among the three of a group."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw).decode("ascii")
        yield text[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
