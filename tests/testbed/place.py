"""A node of a testbed: namespaces that a sleeping process holds, and programs started inside them.

A place has its own host name, mounts and, where the layout says so, network. Fresh on each: `/tmp`, and
`ROOT/local` for what a real node keeps on its disk. `/etc/passwd`, `/etc/group` and `/etc/hosts` are the testbed's.
Folders that ordinary users could not enter are covered, except for what the tests need of them.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.testbed.guard import MARK
from tests.testbed.layout import USERS

PROJECT = Path(__file__).parents[2]
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_COVERED = {"/tmp": "1777", str(Path("~root").expanduser()): "755"}
_NEEDED = tuple(dict.fromkeys((sys.base_prefix, sys.prefix, str(PROJECT))))


def _cover() -> list[str]:
    """Shell lines that lay a fresh folder over each covered one, with what is needed of it inside again."""
    lines = []
    for folder, mode in _COVERED.items():
        inside = [path for path in _NEEDED if path.startswith(folder + "/")]
        inside = [path for path in inside if not any(path.startswith(other + "/") for other in inside)]
        for number, path in enumerate(inside):
            lines.append(f"mkdir $R/local/.kept{number}; mount --rbind {shlex.quote(path)} $R/local/.kept{number}")
        lines.append(f"mount -t tmpfs -o mode={mode} tmpfs {folder}")
        for number, path in enumerate(inside):
            quoted = shlex.quote(path)
            lines.append(
                f"mkdir -p {quoted}; mount --move $R/local/.kept{number} {quoted}; rmdir $R/local/.kept{number}"
            )
    return lines


def _setup(name: str, gpus: int, *, shared: bool) -> str:
    lines = [
        "set -e",
        f"hostname {name}",
        # Slurm asks for addresses with AI_ADDRCONFIG, which finds none where 127.0.0.1 is the only one.
        *([] if shared else ["ip link set lo up", "ip address add 10.77.255.1/32 dev lo"]),
        "mount -t tmpfs -o mode=755 tmpfs $R/local",
        *_cover(),
        "for f in passwd group hosts subuid subgid; do",
        "if [ -e /etc/$f ]; then mount --bind $R/etc/$f /etc/$f; fi",
        "done",
        "cd $R/local; mkdir dev spool; mkdir -m 1777 pyxis enroot scratch",
        *(f"mknod -m 666 dev/nvidia{number} c 1 3" for number in range(gpus)),
        # Users mount images by FUSE; this machine may keep that to root.
        "if [ -e /dev/fuse ]; then mknod -m 666 dev/fuse c 10 229; mount --bind dev/fuse /dev/fuse; fi",
        "cd /; echo ready; exec sleep infinity",
    ]
    return "\n".join(lines)


@dataclass
class Place:
    """One machine of the testbed; `holder` is the process that keeps its namespaces."""

    name: str
    address: str
    root: Path
    holder: subprocess.Popen[str] = field(repr=False)

    @classmethod
    def make(cls, name: str, address: str, root: Path, *, gpus: int = 0, beside: "Place | None" = None) -> "Place":
        """Start one; with `beside` it shares that place's network. Not ready before `settle`."""
        words = [
            "unshare",
            "--mount",
            "--uts",
            *([] if beside else ["--net"]),
            "sh",
            "-c",
            _setup(name, gpus, shared=beside is not None),
        ]
        if beside is not None:
            words = ["nsenter", f"--target={beside.holder.pid}", "--net", "--", *words]
        environment = {"PATH": SYSTEM, "R": str(root), MARK: str(root)}
        holder = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
        return cls(name, address, root, holder)

    def settle(self) -> None:
        """Wait until its mounts are made. Raises RuntimeError where that failed; its words went to stderr."""
        assert self.holder.stdout is not None
        if self.holder.stdout.readline() != "ready\n":
            message = f"the testbed's {self.name} did not start"
            raise RuntimeError(message)

    def words(self, argv: Sequence[str], user: str = "root", cwd: Path | None = None) -> list[str]:
        """`argv` as words that become it inside this place: the process started is the process named."""
        who = [f"--setuid={USERS[user]}", f"--setgid={USERS[user]}"] if user in USERS else []
        enter = ["nsenter", f"--target={self.holder.pid}", "--mount", "--uts", "--net", *who]
        return [*enter, f"--wdns={cwd or '/'}", "--", *argv]

    def link(self, network: str, *, up: bool) -> None:
        """Plug the cable of `network` in, or pull it."""
        self.call(["ip", "link", "set", network, "up" if up else "down"])

    def call(self, argv: Sequence[str], feed: str | None = None) -> str:
        """Run a system program as root; returns what it printed. Raises CalledProcessError."""
        return subprocess.run(
            self.words(argv),
            input=feed,
            env={"PATH": SYSTEM},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    def daemon(self, argv: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a daemon of the testbed as root; what it prints goes to a file in `log/`."""
        log = self.root / "log" / f"{self.name}.{Path(argv[0]).name}"
        with log.open("ab") as output:
            return subprocess.Popen(
                self.words(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={"PATH": SYSTEM, MARK: str(self.root), **environment},
                start_new_session=True,
            )


def wire(login: Place, nodes: Sequence[Place], networks: Sequence[str], address: Mapping[tuple[int, int], str]) -> None:
    """Join all places by one bridge for each network, which stands in the login node's namespace.

    `address` has what (number of the place, number of the network) is called; 0 is the login node.
    """
    lines = []
    for at, network in enumerate(networks):
        lines += [f"link add name {network} type bridge", f"address add {address[0, at]}/24 dev {network}"]
        lines.append(f"link set {network} up")
        for number, node in enumerate(nodes, 1):
            end = f"{network}.{number}"
            lines.append(f"link add name {end} type veth peer name {network} netns {node.holder.pid}")
            lines.append(f"link set {end} master {network} up")
    login.call(["ip", "-batch", "-"], "\n".join(lines) + "\n")
    for number, node in enumerate(nodes, 1):
        each = enumerate(networks)
        lines = [f"address add {address[number, at]}/24 dev {network}\nlink set {network} up" for at, network in each]
        node.call(["ip", "-batch", "-"], "\n".join(lines) + "\n")


def missing(programs: Mapping[str, str]) -> list[str]:
    """Debian's packages for those of `programs` (name → package) that are not on PATH."""
    path = os.pathsep.join((os.environ.get("PATH", ""), SYSTEM))
    return sorted({package for name, package in programs.items() if not any(map(_runs, _places(path, name)))})


def _places(path: str, name: str) -> list[Path]:
    return [Path(folder) / name for folder in path.split(os.pathsep) if folder]


def _runs(path: Path) -> bool:
    return os.access(path, os.X_OK)
