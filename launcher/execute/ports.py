"""Who listens on a port of this machine."""

from dataclasses import dataclass
from pathlib import Path

import psutil

from launcher.run.sweep import belongs


@dataclass(frozen=True)
class Owner:
    """A process as people say it: "`python3` (pid 12, user bob)"; `run` is the directory of the run it belongs to."""

    text: str
    run: Path | None = None


def owner(number: int) -> Owner | None:
    """The process that listens on TCP port `number`.

    None where no listener is seen; another user's process may be hidden from us.
    """
    try:
        listening = [
            found.pid
            for found in psutil.net_connections(kind="tcp")
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == number
        ]
    except (psutil.Error, OSError):
        return None
    return next((_described(pid) for pid in listening if pid is not None), None)


def _described(pid: int) -> Owner:
    try:
        process = psutil.Process(pid)
        run = belongs(pid)
        text = f"`{process.name()}` (pid {pid}, user {process.username()})"
    except (psutil.Error, OSError):
        return Owner(f"pid {pid}")
    return Owner(text, None if run is None else Path(run))
