"""The last line of defence: an exception nobody expected becomes a cause, its traceback stays in the log."""

import sys
import traceback
from types import TracebackType
from typing import Optional, Type


class Rescue:
    """`with rescue:` swallows any exception; `cause` then says in one line what it was.

    The traceback goes to standard error, which is `supervisor.log`.
    """

    def __init__(self) -> None:
        self.cause: Optional[str] = None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.cause = "%s: %s" % (type(error).__name__, error)
        # A closed or full log must not undo the rescue.
        try:
            traceback.print_exception(kind, error, trace, file=sys.stderr)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass
        return True
