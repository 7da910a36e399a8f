"""Starts a testbed: munged, slurmctld and one slurmd a node, each node in namespaces of its own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.testbed import guard, layout
from tests.testbed.bed import Bed
from tests.testbed.layout import USERS, Layout
from tests.testbed.place import SYSTEM, Place, missing, wire

PARENT = Path("/var/lib")
"""Where testbeds live: not below /tmp, which each node has for itself, nor /var/tmp, which Apptainer shows inside.

Short, for the path of a socket ends at 107 bytes.
"""

PREFIX = "launch-bed-"
PROGRAMS = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "srun": "slurm-client",
    "munged": "munge",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
}


@contextmanager
def bed(
    wanted: Layout | None = None, plugin: Path | None = None, programs: Mapping[str, Path] | None = None
) -> Iterator[Bed]:
    """A running testbed, gone when the context ends, or soon after this process does.

    `programs` (name → file) are put on the users' PATH. Raises RuntimeError where it cannot be had.
    """
    made = wanted or Layout()
    _check()
    guard.sweep(PARENT, PREFIX + "*")
    root = Path(tempfile.mkdtemp(prefix=PREFIX, dir=PARENT))
    keeper, lock = guard.hold(root)
    running = Bed(root, made)
    try:
        _fill(root, made, plugin, programs or {})
        _place(running)
        running.boot()
        yield running
    finally:
        assert keeper.stdin is not None
        keeper.stdin.close()
        left = keeper.wait(timeout=60)
        os.close(lock)
        running.reap()
        assert left == 0, f"processes of {root} would not end"


def _check() -> None:
    lacking = missing(PROGRAMS)
    if lacking:
        message = f"the testbed needs Debian's packages {' '.join(lacking)}"
        raise RuntimeError(message)
    if os.geteuid():
        message = "the testbed makes namespaces: run these tests as root"
        raise RuntimeError(message)


def _fill(root: Path, made: Layout, plugin: Path | None, programs: Mapping[str, Path]) -> None:
    root.chmod(0o755)
    for name in ("etc", "log", "munge", "state", "local", "home", "shared", "bin"):
        (root / name).mkdir()
    (root / "shared").chmod(0o1777)
    for user, uid in USERS.items():
        home = root / "home" / user
        home.mkdir(0o755)
        os.chown(home, uid, uid)
    (root / "home/root").mkdir(0o700)
    etc = root / "etc"
    files = {
        "slurm.conf": layout.slurm_conf(made, root),
        "gres.conf": layout.gres_conf(made, root),
        "plugstack.conf": layout.plugstack_conf(made, root, plugin),
        "passwd": Path("/etc/passwd").read_text() + layout.passwd(root),
        "group": Path("/etc/group").read_text() + layout.group(root),
        "hosts": layout.hosts(made),
        "subuid": layout.subuid(),
        "subgid": layout.subuid(),
    }
    if version() >= (23, 11):
        files["cgroup.conf"] = "CgroupPlugin=disabled\n"
    for name, text in files.items():
        (etc / name).write_text(text)
    for name, program in programs.items():
        shutil.copy2(program, root / "bin" / name)


def _place(bed: Bed) -> None:
    """Make the login node and the nodes, and the networks between them."""
    root, made = bed.root, bed.layout
    login = Place.make("login", made.address(0), root)
    bed.places.append(login)
    login.settle()
    beside = None if made.networks else login
    for number, name in enumerate(made.names, 1):
        bed.places.append(Place.make(name, made.address(number), root, gpus=made.gpus, beside=beside))
    for node in bed.nodes:
        node.settle()
    if made.networks:
        numbers = range(made.nodes + 1)
        addresses = {(n, at): made.address(n, at) for n in numbers for at in range(len(made.networks))}
        wire(login, bed.nodes, made.networks, addresses)


def version() -> tuple[int, ...]:
    """Slurm's version on this machine."""
    words = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=True, env={"PATH": SYSTEM}).stdout
    return tuple(int(part) for part in words.split()[1].split(".")[:3])
