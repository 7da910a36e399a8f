"""The picture of a terminal: every line is in it, nothing of it is markup, and it needs nothing from elsewhere."""

import xml.etree.ElementTree as ET

from docs.picture import COMMAND, INK, picture

TEXT = "$ launch ps\nid  a<b & c\n\nlast\n"
SVG = "{http://www.w3.org/2000/svg}"


def test_every_line_is_in_the_picture() -> None:
    rows = list(ET.fromstring(picture(TEXT)).iter(f"{SVG}text"))
    assert [row.text for row in rows] == ["$ launch ps", "id  a<b & c", "last"]
    assert [row.get("fill") for row in rows] == [COMMAND, INK, INK]


def test_lines_are_inside_and_below_each_other() -> None:
    root = ET.fromstring(picture(TEXT))
    heights = [float(row.get("y", "nan")) for row in root.iter(f"{SVG}text")]
    assert heights == sorted(heights)
    assert heights[-1] < float(root.get("height", "nan"))
    assert float(root.get("width", "nan")) > len("id  a<b & c") * 8


def test_it_needs_nothing_from_elsewhere() -> None:
    assert "href" not in picture(TEXT)
    assert "url(" not in picture(TEXT)
