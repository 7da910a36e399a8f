"""Who listens on a port of this machine."""

import psutil


def owner(number: int) -> str | None:
    """The process that listens on TCP port `number`, as people say it: "`python3` (pid 12, user bob)".

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


def _described(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return f"`{process.name()}` (pid {pid}, user {process.username()})"
    except (psutil.Error, OSError):
        return f"pid {pid}"
