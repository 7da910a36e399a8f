"""Kills `launch up` before each thing it does to the world, and says it again: run by `test_submission`.

One process imports everything and forks for each trial; nothing else of it runs. What is printed is one line of JSON a
trial. Slurm is a folder of shell scripts with a file as its queue.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from launcher.cli import main
from launcher.execute.journal import runs as listed
from launcher.execute.world import Real

EVENTS = frozenset(
    (
        "os.mkdir",
        "os.rename",
        "os.remove",
        "os.rmdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "fcntl.flock",
        "shutil.rmtree",
    )
)

SLURM = {
    "sinfo": "echo 'batch*|up|infinite|4|gpu:8'",
    "srun": "echo '      --overlap'",
    "scontrol": "exit 1",
    "sacctmgr": "exit 1",
    "squeue": """\
[ -e QUEUE ] && while read -r id comment; do echo "$id|PENDING|Resources|N/A|$comment"; done <QUEUE
exit 0""",
    "sbatch": """\
for word; do
    case $word in --test-only) exit 0 ;; --comment=*) comment=${word#*=} ;; esac
done
id=$(($(cat QUEUE 2>/dev/null | wc -l) + 1))
echo "$id $comment" >>QUEUE
echo "$id\"""",
}


def slurm(folder: Path, queue: Path) -> None:
    """The programs of a Slurm that never starts a job."""
    folder.mkdir()
    for name, text in SLURM.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n".replace("QUEUE", str(queue)))
        path.chmod(0o755)


class Death:
    """Ends this process at its N-th change of the world; `last` is what that would have been."""

    def __init__(self, number: int, told: int) -> None:
        self.left = number
        self.told = told

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        written = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        submits = event == "subprocess.Popen" and args[1] and os.fsdecode(args[1][0]) == "sbatch"
        if not (written or submits or event in EVENTS):
            return
        self.left -= 1
        if self.left == 0:
            os.write(self.told, f"{event} {args[0]!r}"[:200].encode())
            os.kill(os.getpid(), signal.SIGKILL)


def forked(words: list[str], number: int = 0) -> tuple[int, str]:
    """`launch words…` in a process of its own: its exit code (negative: the signal), and before what it was killed."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        if number:
            sys.addaudithook(Death(number, write))
        os._exit(main(words))
    os.close(write)
    with os.fdopen(read) as said:
        told = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), told


def trial(root: Path, recipe: str, number: int) -> dict[str, Any]:
    """One killed `up`, another, and what there is then."""
    place = root / str(number)
    place.mkdir()
    slurm(place / "bin", place / "queue")
    os.environ.update(HOME=str(place), XDG_STATE_HOME=str(place / "state"), PATH=f"{place}/bin:/usr/bin:/bin")
    words = ["up", recipe, "--cluster", str(root / "site.toml"), "--detach"]
    first, before = forked(words, number)
    noted = len(list(place.glob("runs/*/job.json")))
    second, _ = forked(words)
    queue = place / "queue"
    jobs = [line.split(" ", 1) for line in queue.read_text().splitlines()] if queue.exists() else []
    runs = {path.parent.name: json.loads(path.read_text())["job"] for path in place.glob("runs/*/job.json")}
    return {
        "number": number,
        "before": before,
        "first": first,
        "second": second,
        "noted": noted,
        "jobs": {comment: job for job, comment in jobs},
        "count": len(jobs),
        "runs": runs,
        "listed": [run.name for run in listed(Real())],
    }


if __name__ == "__main__":
    here = Path(sys.argv[1])
    at = 1
    while True:
        found = trial(here, sys.argv[2], at)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
        if found["first"] >= 0:
            break
        at += 1
