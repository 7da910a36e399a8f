"""A terminal's text as an SVG picture, so that a page shows what a reader will see; it needs nothing from elsewhere."""

from html import escape

SIZE, WIDTH, HEIGHT, MARGIN = 14, 8.43, 20, 18
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
PAPER, INK, COMMAND, FAINT = "#1b1f27", "#d7dce5", "#7fd1ae", "#8b93a3"


def picture(text: str) -> str:
    """The lines of `text` on a dark panel; those that begin with `$ ` are commands, with `#` remarks."""
    lines = text.rstrip("\n").split("\n")
    width = round(max(map(len, lines)) * WIDTH + 2 * MARGIN)
    height = len(lines) * HEIGHT + 2 * MARGIN
    rows = [
        f'<text x="{MARGIN}" y="{MARGIN + HEIGHT * number + SIZE}" fill="{color(line)}">{escape(line)}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    size = f'width="{width}" height="{height}"'
    font = f'font-family="{FONT}" font-size="{SIZE}" xml:space="preserve" style="white-space:pre"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}">'
    panel = f'<rect {size} rx="8" fill="{PAPER}"/>'
    return "\n".join([head, panel, f"<g {font}>", *rows, "</g>", "</svg>\n"])


def color(line: str) -> str:
    """The colour of one line."""
    return {"$ ": COMMAND, "# ": FAINT}.get(line[:2], INK)
