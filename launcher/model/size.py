"""Sizes of memory in Slurm's words."""

import re

PATTERN = r"[1-9][0-9]{0,8}[MGT]"
"""A whole size; the same text stands in the JSON Schema."""

FORMS = "`512000M`, `800G` or `2T`"
"""What the pattern takes, for messages."""

_SIZE = PATTERN
_MEBIBYTES = {"M": 1, "G": 1024, "T": 1024 * 1024}


def mebibytes(text: str) -> int:
    """MiB in `text`, whose units are powers of 1024 as in Slurm's `--mem`. Raises ValueError for anything else."""
    if not re.fullmatch(_SIZE, text):
        raise ValueError(f"must be a size of memory, not `{text}`")
    return int(text[:-1]) * _MEBIBYTES[text[-1]]
