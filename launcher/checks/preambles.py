"""Preambles: what a shell takes otherwise than it looks."""

from collections.abc import Iterator

from launcher.checks.case import Case
from launcher.text.diagnostic import Diagnostic

_END = "\r\n"


def setup_line_ends(case: Case) -> Iterator[Diagnostic]:
    r"""Lines of a preamble end as on Windows

    A shell has the carriage return before the end of a line for a part of the last word: `export TOKENS=8` sets
    `8` and a carriage return, `pip install x` looks for a package that nobody has. `bash -n` finds nothing wrong
    with it, and preambles are run as they are written, to the byte. Editors and git's `core.autocrlf` write files
    so on Windows.

        setup_file = "setup.sh"             # after `sed -i 's/\r$//' setup.sh`
    """
    for place, text in {role.place("setup"): role.setup for role in case.job.roles if role.setup}.items():
        if _END in text:
            line = text[: text.index(_END)].count("\n") + 1
            yield Diagnostic(
                "setup-line-ends",
                f"line {line} of the preamble ends in a carriage return, which a shell takes for a part of the word",
                place,
                help="write the file with the line ends of Unix: `sed -i 's/\\r$//' FILE`",
            )
