"""Runs pytest as the user `nobody`, whose rights are those of most people: `python -m tests.nobody [WORD…]`, as root.

Folders on the way to our interpreters and to this checkout that others cannot enter (`/root`) are covered, in a mount
namespace that only the tests see, by empty ones that hold what is needed and nothing else.
"""

import os
import pwd
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.conftest import python39_path

ROOT = Path(__file__).parents[1]


def closed(path: Path) -> Path | None:
    """The first folder on the way to `path` that others cannot enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)


def cover(needed: Sequence[Path], kept: str) -> Iterator[str]:
    """Shell lines that open the way to what is needed; `kept` is a folder for what is on its way."""
    folders: dict[Path, list[Path]] = {}
    for path in sorted(set(needed)):
        folder = closed(path)
        if folder is not None and not any(path.is_relative_to(other) for other in folders.get(folder, ())):
            folders.setdefault(folder, []).append(path)
    for folder, inside in folders.items():
        for number, path in enumerate(inside):
            yield f"mkdir {kept}/{number}; mount --rbind {shlex.quote(str(path))} {kept}/{number}"
        yield f"mount -t tmpfs -o mode=755 none {shlex.quote(str(folder))}"
        for number, path in enumerate(inside):
            quoted = shlex.quote(str(path))
            yield f"mkdir -p {quoted}; mount --move {kept}/{number} {quoted}; rmdir {kept}/{number}"


def main(words: Sequence[str]) -> int:
    """The exit code of pytest."""
    if os.geteuid() != 0:
        sys.stderr.write("only root can become `nobody`; for any other user `make test` is what is wanted\n")
        return 2
    if any(path.stat().st_mode & 0o005 != 0o005 for path in (ROOT, ROOT / ".venv")):
        sys.stderr.write(f"{ROOT}: `nobody` may not read it; `chmod -R go+rX` lets others in\n")
        return 2
    user = pwd.getpwnam("nobody")
    prefixes = [ROOT, Path(sys.base_prefix), *(Path(found).parents[1] for found in filter(None, [python39_path()]))]
    with tempfile.TemporaryDirectory(prefix="launch-nobody-") as kept, tempfile.TemporaryDirectory() as home:
        os.chown(home, user.pw_uid, user.pw_gid)
        become = f"exec setpriv --reuid={user.pw_uid} --regid={user.pw_gid} --clear-groups --no-new-privs"
        lines = ["set -e", *cover([path.resolve() for path in prefixes], kept), f'cd {ROOT}; {become} "$@"']
        pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
        done = subprocess.run(
            ["unshare", "--mount", "bash", "-c", "\n".join(lines), "bash", *pytest],
            env={
                **os.environ,
                "HOME": home,
                "USER": user.pw_name,
                "LOGNAME": user.pw_name,
                "TMPDIR": home,
                "HYPOTHESIS_STORAGE_DIRECTORY": f"{home}/hypothesis",
                "LAUNCH_PYTHON39": python39_path() or "",
            },
        )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
