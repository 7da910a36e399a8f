"""Secrets that stand in what users write: how they look, and text in which nobody reads them."""

import re

LENGTH = 12
"""Characters of the shortest value that a telling name makes a secret; `EMPTY` and `none` are none."""

_PASSWORD = 4
"""The same of passwords, which people choose."""

_WORDS = r"(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API[_-]?KEY|(?:ACCESS|PRIVATE|SECRET)[_-]KEY)"
_NAME = rf"(?i).*{_WORDS}"
_VALUE = (
    r"hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}"
    r"|nvapi-[\w-]{20,}|xox[abp]-[\w-]{10,}|AKIA[A-Z0-9]{16}|(?<=[Bb]earer )[\w.~+/=-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----END))*+(?:-----END [A-Z ]*PRIVATE KEY-----)?"
)
# A name and what is given to it: in TOML, JSON, a shell or on a command line.
_GIVEN = (
    rf"(?i)((?<![A-Za-z0-9_-])[A-Za-z0-9_-]*{_WORDS}[\"'\\]*[ \t]*[=:][ \t]*\\?"
    rf"|(?<![A-Za-z0-9_-])--[A-Za-z0-9_-]*{_WORDS}[ \t]+)"
    r"(\"\"\"[\s\S]*?(?:\"\"\"|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'[^'\n]*+'?|[^\s\"',;\\]++)"
)
# One of these is in all that the patterns match: to compile those costs more than most texts are worth.
_MARKS = ("hf_", "gh", "github_pat_", "glpat-", "sk-", "nvapi-", "xox", "AKIA", "earer ", "PRIVATE KEY")
_TELLING = ("token", "secret", "passw", "credential", "key")
_NONE = ("empty", "none", "null", "true", "false", "changeme")
_LETTER = r"[^\r\n]"
_QUOTES = ('"""', "'''", '"', "'")


def named(name: str, value: str) -> bool:
    """Whether a variable or flag of this name says that its value is a secret."""
    return _long(name, value) and re.fullmatch(_NAME, name) is not None


def _long(name: str, value: str) -> bool:
    """Whether a value is no placeholder."""
    least = _PASSWORD if "passw" in name.casefold() else LENGTH
    return len(value) >= least and value.casefold() not in _NONE


def holds(text: str) -> bool:
    """Whether there is a secret in a text."""
    return mask(text) != text


def mask(text: str) -> str:
    """`text` with every secret in it as stars, as long as it was: lines and columns stay."""
    if any(mark in text for mark in _MARKS):
        text = re.sub(_VALUE, lambda found: _stars(found[0]), text)
    folded = text.casefold()
    return re.sub(_GIVEN, _given, text) if any(mark in folded for mark in _TELLING) else text


def shown(name: str, value: str) -> str:
    """A value of that name as people may read it."""
    return _stars(value) if named(name, value) else mask(value)


def _given(found: re.Match[str]) -> str:
    before, value = found[1], found[2]
    quote = next((mark for mark in _QUOTES if value.startswith(mark)), "")
    inner = value.removeprefix(quote)
    after = quote if quote and inner.endswith(quote) else ""
    inner = inner[: len(inner) - len(after)]
    # What a shell fills in is no secret yet.
    if not _long(before, inner) or inner.startswith(("$", "`")):
        return found[0]
    return f"{before}{quote}{_stars(inner)}{after}"


def _stars(text: str) -> str:
    return re.sub(_LETTER, "*", text)
