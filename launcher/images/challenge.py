"""What a registry wants to see first: its `WWW-Authenticate` headers (RFC 9110, 11.6, and Docker's tokens)."""

import re
from collections.abc import Iterable, Mapping

from launcher.run.record import record

_SCHEME = re.compile(r"\s*(?:,\s*)*(?P<scheme>[A-Za-z0-9!#$%&'*+.^_`|~-]+)(?:\s+|(?=,)|$)")
_PAIR = re.compile(r'\s*,?\s*(?P<name>[A-Za-z0-9_-]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<token>[^\s,"]+))')


@record
class Challenge:
    """`scheme` in lower case; of a `bearer` the address that gives tokens and what it is to be asked."""

    scheme: str
    realm: str = ""
    service: str = ""
    scope: str = ""


def challenges(headers: Iterable[str]) -> list[Challenge]:
    """All that the headers hold, those that are not understood left out."""
    return [one for header in headers for one in _header(header)]


def _header(text: str) -> list[Challenge]:
    found: list[Challenge] = []
    at = 0
    while at < len(text):
        scheme = _SCHEME.match(text, at)
        if scheme is None:
            break
        at = scheme.end()
        values: dict[str, str] = {}
        while (pair := _PAIR.match(text, at)) is not None:
            quoted = pair["quoted"]
            values[pair["name"].lower()] = pair["token"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            at = pair.end()
        found.append(_challenge(scheme["scheme"].lower(), values))
    return found


def _challenge(scheme: str, values: Mapping[str, str]) -> Challenge:
    return Challenge(scheme, *(values.get(name, "") for name in ("realm", "service", "scope")))
