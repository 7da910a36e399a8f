"""Room on a disk: looked for before anything is fetched, and said of where it ends all the same."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from launcher.execute.images.failure import NO_ROOM, Failure, full


def room(folder: Path, wanted: int, what: str) -> None:
    """Raises Failure where so many bytes, wanted for `what`, are not free in a folder that is there."""
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise Failure("full", f"`{folder}` has {free >> 20} MiB free, and {-(-wanted >> 20)} MiB are wanted for {what}")


@contextmanager
def filling(folder: Path, advice: str) -> Iterator[None]:
    """While a folder is written to: that it is full is a Failure, with advice on where room is had. Raises Failure."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise replace(full(folder, (error.strerror or str(error)).lower()), advice=advice) from error
    except Failure as failure:
        if failure.kind != "full" or failure.advice is not None:
            raise
        raise replace(failure, advice=advice) from failure
