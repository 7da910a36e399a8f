"""An import that is killed before each thing it does to the disk: no file is bad, and the next one finishes."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.images import inspect
from launcher.images.reference import Reference
from tests.execute.crash import Death
from tests.execute.images.clients import named, stored
from tests.testbed import oci
from tests.testbed.registry import Served

Hook = Callable[[str, tuple[Any, ...]], None]


@pytest.fixture(scope="module")
def image(served: Served) -> Reference:
    layers = [[oci.Entry("bin/sh", b"#", mode=0o755)], [oci.Entry("big", os.urandom(200_000))]]
    served.pusher.push("killed/image", "1", oci.image(layers))
    return named(served.host, "killed/image:1")


def forked(folder: Path, image: Reference, hooked: Callable[[int], Hook]) -> tuple[int, str]:
    """How an import ends that has this audit hook, and what the hook told."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            made = stored(folder)
            sys.addaudithook(hooked(write))
            made.ensure(image, "x86_64")
            os._exit(0)
        os._exit(1)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as told:
        text = told.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def test_before_each_change(image: Reference, tmp_path: Path) -> None:
    number, status = 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        number += 1
        folder = tmp_path / str(number)
        status, before = forked(folder, image, lambda told, at=number: Death(at, told))  # type: ignore[misc]
        made = stored(folder)
        assert [each for each in made.all() if not made.good(each.path)] == [], before
        path = made.ensure(image, "x86_64")
        assert inspect.file(path), before
        assert {each.suffix for each in folder.iterdir()} == {".json", ".lock", ".sqsh"}, before
    assert (status, number > 10) == (0, True)


def test_the_name_is_given_to_what_is_whole(image: Reference, tmp_path: Path) -> None:
    """By a rename alone: nobody ever sees a part of it."""

    def telling(told: int) -> Hook:
        def hear(event: str, args: tuple[Any, ...]) -> None:
            if event in ("open", "os.rename", "os.link") and str(args[event != "open"]).endswith(".sqsh"):
                written = event != "open" or (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR))
                os.write(told, f"{event} {Path(args[0]).name}\n".encode() if written else b"")

        return hear

    status, said = forked(tmp_path, image, telling)
    (path,) = tmp_path.glob("*.sqsh")
    assert (status, said.splitlines()) == (0, [f"os.rename .{path.stem}.part"])
