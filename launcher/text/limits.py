"""What is refused of a text before and after `tomllib` reads it, because it would exhaust or deceive a reader."""

import re
from collections.abc import Iterator

from launcher.text.diagnostic import Diagnostic, Place
from launcher.text.document import Document, KeyPath

BYTES = 1 << 20
BRACKETS = 64
PARTS = 32
DIGITS = 4300  # Python's own limit (`sys.int_info.default_max_str_digits`, since 3.11)
FINDINGS = 20  # that are told of one text; it is refused anyhow
SHALLOW = "nothing that is read here is nested as deep: is it the file that was meant?"
LEVELS = 128  # of nested tables and lists: headers, dotted keys and brackets together

# Strings and comments come whole, closed or not, so that a bracket or dot in them counts for nothing.
TOKEN = re.compile(
    r'#[^\n]*+|"""(?:[^"\\]++|\\[\s\S]|"{1,2}+(?!"))*+(?:"{3,5})?+'
    r"|'''(?:[^']++|'{1,2}+(?!'))*+(?:'{3,5})?+"
    r'|"(?:[^"\\\r\n]++|\\.)*+"?+|' + r"'[^'\r\n]*+'?+|[A-Za-z0-9_+-]++|[\[\]{}.]"
)
RESERVED = re.compile("[\0\ud800-\udfff\ufdd0\ufdd1]")


def before(document: Document) -> Iterator[Diagnostic]:
    """Findings in a text that nobody has read yet; one that is too large is looked at no further."""
    size = len(document.text.encode(errors="surrogatepass"))
    if size > BYTES:
        yield Diagnostic(
            "input-too-large",
            f"{size} bytes are more than the {BYTES} that are read",
            Place(document),
            help="name large texts by file (`setup_file`) instead of writing them out",
        )
        return
    for found in RESERVED.finditer(document.text):
        yield _reserved(found.group(), Place(document, offset=found.start()))
    yield from _tokens(document)


def after(document: Document) -> Iterator[Diagnostic]:
    """Findings in what a document means: reserved characters written as escapes, nesting."""
    todo: list[tuple[KeyPath, object]] = [((), document.data)]
    while todo:
        path, value = todo.pop()
        if len(path) > LEVELS:
            yield _deep(f"more than {LEVELS} tables and lists inside each other", Place(document, path, "key"))
            return
        if isinstance(value, dict):
            for key, item in value.items():
                yield from _escapes(key, Place(document, (*path, key), "key"))
                todo.append(((*path, key), item))
        elif isinstance(value, list):
            todo.extend(((*path, index), item) for index, item in enumerate(value))
        elif isinstance(value, str):
            yield from _escapes(value, Place(document, path))


def _tokens(document: Document) -> Iterator[Diagnostic]:
    depth = parts = 0
    dot = False
    for token in TOKEN.finditer(document.text):
        first = document.text[token.start()]
        if first in "[{":
            depth += 1
            if depth == BRACKETS + 1:
                yield _deep(f"brackets are nested deeper than {BRACKETS}", Place(document, offset=token.start()))
        elif first in "]}":
            depth = max(0, depth - 1)
        elif first not in "#.":
            parts = parts + 1 if dot else 1
            length = token.end() - token.start()
            if parts == PARTS + 1:
                yield _deep(
                    f"a dotted key has more than {PARTS} parts", Place(document, offset=token.start(), length=length)
                )
            if length > DIGITS and token.group().strip("+-").replace("_", "").isdecimal():
                yield Diagnostic(
                    "input-too-large",
                    f"a number has more than {DIGITS} digits",
                    Place(document, offset=token.start(), length=length),
                    help="nothing takes such a number; a text stands in quotes",
                )
        dot = first == "."


def _deep(message: str, place: Place) -> Diagnostic:
    return Diagnostic("input-too-deep", message, place, help=SHALLOW)


def _escapes(text: str, place: Place) -> Iterator[Diagnostic]:
    # What stands in the text as it is was found before.
    found = RESERVED.search(text)
    if found:
        yield _reserved(found.group(), place)


def _reserved(character: str, place: Place) -> Diagnostic:
    if "\ud800" <= character <= "\udfff":
        why, what = "the bytes of the text are not UTF-8 here", "save the text as UTF-8"
    elif character == "\0":
        why, what = "no argument, environment variable or path can hold it", "remove it"
    else:
        why, what = "Unicode keeps it for a program's own use, and the launcher marks late values with it", "remove it"
    return Diagnostic(
        "reserved-character",
        f"the character U+{ord(character):04X} cannot be used",
        place,
        notes=(why,),
        help=what,
    )
