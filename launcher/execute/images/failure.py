"""Why something about an image could not be found out or done."""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal[
    "absent", "denied", "limited", "unreachable", "faulty", "offline", "platform", "full", "closed", "busy", "slurm"
]
"""`absent`: there is none; `denied`: not for this user; `limited`: asked too often; `unreachable`: no answer, or a
broken one; `faulty`: the answer is wrong; `offline`: nobody may be asked; `platform`: none for the architecture;
`full`: no room; `closed`: where it goes, this user may not write; `busy`: somebody else is at it; `slurm`: no job for
it, or one that ended too early.
"""


@dataclass(eq=False)
class Failure(Exception):
    """`message` is a lower-case phrase that stands alone, `advice` says what to do."""

    kind: Kind
    message: str
    advice: str | None = None

    def __str__(self) -> str:
        return self.message


_LEAST = 1 << 16

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def full(folder: Path, text: str) -> Failure:
    """No room left in a folder; `text` is who says so, and how."""
    return Failure("full", f"`{folder}` has no room left: {text}")


def roomless(text: str, folder: Path) -> bool:
    """Whether a program that failed had no room: by its own words, or because none is left in the folder.

    `tar2sqfs` 1.2.0 may say `writing super block: I/O error`, for a write that was done in part.
    """
    said = re.search(r"No space left|ENOSPC|quota", text, re.IGNORECASE) is not None
    return said or shutil.disk_usage(folder).free < _LEAST


CODES: Mapping[str, str] = {
    "full": "store-full",
    "closed": "store-closed",
    "busy": "image-busy",
    "slurm": "slurm-refused",
    "platform": "image-of-other-nodes",
    "unreachable": "image-unseen",
    "limited": "image-unseen",
    "offline": "image-unseen",
}
"""Kind → code, where it is not `image-absent`."""

EXITS: Mapping[str, int] = {"full": 1, "closed": 1, "busy": 1, "slurm": 5}
"""What is wrong with this machine, or with Slurm, rather than with an image: else the exit code is 4."""
