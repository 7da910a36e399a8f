"""Plain-text tables: columns by width, two spaces between, nothing drawn."""

import unicodedata
from collections.abc import Iterable, Sequence

from launcher.cli.terminal import paint


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, color: bool = False) -> str:
    """Lines of a table, the header first; columns in which every cell is empty are left out.

    Numbers are for people to read down, so cells are never cut or wrapped.
    """
    body = [list(row) for row in rows]
    keep = [index for index in range(len(header)) if any(row[index] for row in body)]
    lines = [[header[index] for index in keep], *([row[index] or "-" for index in keep] for row in body)]
    widths = [max(width(line[column]) for line in lines) for column in range(len(keep))]
    text = [_line(line, widths) for line in lines]
    return "\n".join([paint(text[0], "1", color), *text[1:]])


def width(text: str) -> int:
    """Columns that `text` takes on a terminal."""
    return sum(0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (wide - width(cell)) for cell, wide in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
