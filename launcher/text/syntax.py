"""What is wrong with a text that is no TOML: the words of `tomllib` made into findings that say what to do."""

import re
from collections.abc import Callable, Mapping

from launcher.text import locate
from launcher.text.diagnostic import Diagnostic, Label, Place
from launcher.text.document import Document, dotted
from launcher.text.limits import TOKEN

CODE = "toml-syntax"

# Only Python ≥ 3.14 has the position in attributes of the error; every version says it at the end of the text.
POSITION = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"
STRING = f"{locate.BLOCK}|{locate.BASIC}|{locate.LITERAL}"
WORD = r"[^\s,\[\]{}#=]+"
WORDS: Mapping[str, str] = {
    "True": "TOML writes it `true`",
    "False": "TOML writes it `false`",
    "null": "TOML has no null: leave the key out",
    "None": "TOML has no null: leave the key out",
}


def diagnose(document: Document, error: ValueError) -> Diagnostic:
    """The finding for what `tomllib.loads(document.text)` raised."""
    said = str(error)
    found = re.search(POSITION, said)
    if found is None:
        return Diagnostic(CODE, f"not TOML: {said}", Place(document))
    said = said[: found.start()]
    offset = _offset(document.text, int(found[1]), int(found[2])) if found[1] else len(document.text)
    if document.text.startswith("\ufeff"):
        return _finding(document, 0, "a byte-order mark comes first", "save the file as UTF-8 without one")
    for start, tell in SAID.items():
        if said.startswith(start):
            return tell(document, offset)
    return _finding(document, offset, said[:1].lower() + said[1:])


def _offset(text: str, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start + column - 1


def _finding(
    document: Document, offset: int, message: str, help_: str | None = None, length: int = 1, *labels: Label
) -> Diagnostic:
    return Diagnostic(CODE, message, Place(document, offset=offset, length=length), help=help_, labels=labels)


def _value(document: Document, offset: int) -> Diagnostic:
    found = re.compile(WORD).match(document.text, offset)
    if found is None and offset == len(document.text) and _opened(document.text, offset):
        return _unclosed(document, offset)
    if found is None:
        return _finding(document, offset, "a value is missing here", 'an empty text is `""`')
    word = found.group()
    help_ = WORDS.get(word) or "text stands in quotes"
    return _finding(document, offset, f"`{word}` is no TOML value", help_, len(word))


def _line(document: Document, offset: int) -> Diagnostic:
    help_ = "each key stands on a line of its own; text stands in quotes"
    return _finding(document, offset, "nothing more may stand on the line here", help_)


def _key(document: Document, offset: int) -> Diagnostic:
    help_ = "a key of other characters than A-Z a-z 0-9 _ - stands in quotes"
    return _finding(document, offset, "expected a key here", help_)


def _equals(document: Document, offset: int) -> Diagnostic:
    return _finding(document, offset, "expected `=` after the key", "write `key = value`, or `[table]` for a table")


def _closing(document: Document, offset: int) -> Diagnostic:
    return _finding(document, offset, "expected `]` after the name of the table", "write `[table]`")


def _unclosed(document: Document, offset: int) -> Diagnostic:
    labels = [Label(Place(document, offset=start), "opened here") for start in _opened(document.text, offset)]
    help_ = "`,` stands between values, and each bracket is closed"
    return _finding(document, offset, "expected `,` or the closing bracket here", help_, 1, *labels[-1:])


def _opened(text: str, offset: int) -> list[int]:
    """Where the brackets stand that are open at `offset`."""
    opened: list[int] = []
    for token in TOKEN.finditer(text, 0, offset):
        if token.group() in "[{":
            opened.append(token.start())
        elif token.group() in "]}" and opened:
            opened.pop()
    return opened


def _string(document: Document, offset: int) -> Diagnostic:
    """A string that is not closed, or that holds what it may not."""
    if document.text[offset : offset + 1] not in ("", "\n", "\r"):
        return _control(document, offset)
    help_ = 'close it with the quote that opened it; text of several lines stands between `"""`'
    for token in TOKEN.finditer(document.text):
        if token[0][0] in "\"'" and not re.fullmatch(STRING, token[0]):
            label = Label(Place(document, offset=token.start()), "opened here")
            return _finding(document, token.end(), "a text is not closed", help_, 1, label)
    return _finding(document, offset, "a text is not closed", help_)


def _control(document: Document, offset: int) -> Diagnostic:
    number = f"U+{ord(document.text[offset]):04X}"
    return _finding(document, offset, f"the control character {number} cannot stand here", "remove or escape it")


def _escape(document: Document, offset: int) -> Diagnostic:
    start = document.text.rfind("\\", 0, offset)
    message = f"`{document.text[start : start + 2]}` is no escape that TOML knows here"
    help_ = r"write `\\` for a backslash, or put the text in single quotes, where nothing is escaped"
    return _finding(document, start, message, help_, 2)


def _date(document: Document, offset: int) -> Diagnostic:
    return _finding(document, offset, "no such date or time", "text stands in quotes")


def _repeated(document: Document, offset: int) -> Diagnostic:
    """A key that is set where it was set before: `tomllib` tells the end of the line, the locator both keys."""
    try:
        locate.document(document.text)
    except locate.Repeated as error:
        (start, end), name = error.second, dotted(error.path)
        first = Place(document, offset=error.first[0], length=error.first[1] - error.first[0])
        message, help_ = f"`{name}` is set twice", "keep one of them"
        return _finding(document, start, message, help_, end - start, Label(first, "first set here"))
    except ValueError:
        pass
    return _finding(document, offset, "a table or key is set twice", "keep one of them")


SAID: Mapping[str, Callable[[Document, int], Diagnostic]] = {
    "Invalid value": _value,
    "Expected newline": _line,
    "Invalid statement": _key,
    "Invalid initial character for a key": _key,
    "Expected '='": _equals,
    "Expected ']": _closing,
    "Unclosed": _unclosed,
    "Unterminated string": _string,
    "Illegal character": _string,
    "Found invalid character": _string,
    "Expected": _string,
    "Unescaped": _escape,
    "Invalid hex value": _escape,
    "Escaped character": _escape,
    "Invalid date": _date,
    "Cannot": _repeated,
    "Duplicate": _repeated,
}
"""How an error of `tomllib` (CPython 3.11 to 3.14) begins → what we say."""
