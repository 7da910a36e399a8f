"""Lines of a document as a terminal shows them, with what is meant underlined."""

import re
import unicodedata
from functools import cache

TAB = 4
COLUMNS = 100
"""Terminal columns of a source line; a longer one is cut around what is underlined."""
BEFORE = 24
"""Columns kept before what is underlined where the start of the line is cut off."""
REACH = 2 * COLUMNS
"""Characters to either side of what is underlined that are looked at: a line may be a megabyte long."""

# Controls would change the terminal's state, direction marks the order of what is read; neither has a look of its own.
HIDDEN = "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0\ufdd1]"


def clean(text: str) -> str:
    """`text` that is safe to print: hidden characters become pictures (`␛`) or `�`. Tabs and newlines stay."""
    # Nothing of `HIDDEN` is printable; to compile it costs more than most texts take.
    return text if text.replace("\n", "").isprintable() else re.sub(HIDDEN, _picture, text)


@cache
def width(character: str) -> int:
    """Terminal columns of a character: 2 for wide ones (CJK, emoji), 0 for those that join the one before."""
    if unicodedata.category(character) in ("Mn", "Me") or character in "\u200b\u200c\u200d\u2060\ufeff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def underlined(line: str, start: int, end: int) -> tuple[str, int, int]:
    """`line` as shown, and the column (from 0) and length of the line under its characters `start` to `end`.

    The length is 1 at least, and reaches no further than what is shown of the line.
    """
    start = min(start, len(line))
    cut = max(0, start - REACH)
    part = line[cut : start + REACH]
    cells = _cells(clean(part))
    start, end = start - cut, max(start, min(end, len(line))) - cut
    end = min(end, len(cells))
    first, last = _window([columns for _, columns in cells], start, end)
    head = "…" if cut or first else ""
    tail = "…" if last < len(cells) or cut + len(part) < len(line) else ""
    shown = head + "".join(text for text, _ in cells[first:last]) + tail
    indent = len(head) + sum(columns for _, columns in cells[first:start])
    length = sum(columns for _, columns in cells[start : min(end, last)])
    return shown.rstrip(), indent, max(1, length)


def _cells(line: str) -> list[tuple[str, int]]:
    if line.isascii() and "\t" not in line:
        return [(character, 1) for character in line]
    cells, at = [], 0
    for character in line:
        columns = TAB - at % TAB if character == "\t" else width(character)
        cells.append((" " * columns if character == "\t" else character, columns))
        at += columns
    return cells


def _window(widths: list[int], start: int, end: int) -> tuple[int, int]:
    """Which cells of a line are shown: all, or `COLUMNS` of them from the start or from shortly before `start`."""
    if sum(widths) <= COLUMNS:
        return 0, len(widths)
    first, room = 0, COLUMNS
    if sum(widths[:end]) > COLUMNS:
        first, before = start, 0
        while first and before + widths[first - 1] <= BEFORE:
            first -= 1
            before += widths[first]
    last = first
    while last < len(widths) and room >= widths[last]:
        room -= widths[last]
        last += 1
    return first, last


def _picture(found: re.Match[str]) -> str:
    number = ord(found.group())
    if number < 0x20:
        return chr(0x2400 + number)
    return "\u2421" if number == 0x7F else "\ufffd"
