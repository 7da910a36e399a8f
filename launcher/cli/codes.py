"""Codes of findings that no check or audit makes, and their pages."""

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "command-line": """The command line is wrong

A verb, an option or a word is misspelt, missing or one too many. `launch --help` lists the verbs,
`launch VERB --help` the options of one. Exit code 2.""",
    "operation-failed": """The operating system said no

A file, directory or process could not be read, written or started: the message has the path and the
system's own words. Exit code 1.""",
    "internal-error": """The launcher has a fault

What happened was not foreseen. Please report it with the output of the same command under
`LAUNCH_DEBUG=1`, which shows where. Exit code 1.""",
    "not-utf-8": """A file is not UTF-8

Recipes, role manifests and cluster files are TOML, and TOML is UTF-8. Exit code 3.""",
}
"""Code → page; the first line is its summary. Checks and audits have theirs as docstrings."""
