"""What one node of an allocation is like: printed by a task of the facts step, one line of JSON."""

import errno
import fcntl
import json
import os
import socket
import struct
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence

from launcher.run import listener, prepare

_SIOCGIFADDR = 0x8915
_ANY = "0.0.0.0"  # noqa: S104  (roles listen on every address)


def main(words: List[str]) -> int:
    """`RUNDIR`: prints the facts of the node this is; 0."""
    told = look(words[0], os.environ)
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


def look(run: str, environ: Mapping[str, str]) -> Dict[str, Any]:
    """The facts of this node. `ip` is None and `error` says why where it has no address; never raises."""
    name = environ.get("SLURMD_NODENAME") or os.uname().nodename
    told: Dict[str, Any] = {
        "node": name,
        "index": int(environ.get("SLURM_NODEID") or 0),
        "ip": None,
        "error": None,
        "busy": [],
        "runs": {},
        "missing": [],
        "cpus": len(os.sched_getaffinity(0)),
        "gpus": environ.get("CUDA_VISIBLE_DEVICES") or environ.get("ROCR_VISIBLE_DEVICES") or "",
        "arch": os.uname().machine,
        "python": "%d.%d" % sys.version_info[:2],
    }
    try:
        script = prepare.script(run)
        hosts = prepare.hosts(run)
        if script.allocation is None:
            raise ValueError("the script is for no allocation")
        told["ip"] = address(script.allocation.interface, name, environ)
        node = script.allocation.nodes[hosts.index(name) if name in hosts else told["index"]]
        told["busy"] = [port for port in node.ports if not free(port)]
        found = listener.runs(told["busy"], os.path.dirname(run))
        told["runs"] = {str(port): run for port, run in found.items()}
        told["missing"] = [path for path in node.paths if not os.path.exists(path)]
    except (OSError, ValueError, IndexError) as error:
        told["error"] = str(error)
    return told


def address(interface: str, name: str, environ: Mapping[str, str]) -> str:
    """The IPv4 address of an interface; without one, that of the node's name, or the one others would see.

    Raises OSError.
    """
    if interface:
        return _of_interface(interface)
    for known in (name, os.uname().nodename):
        found = _of_name(known)
        if found is not None and not found.startswith("127."):
            return found
    # A name that means only loopback (Debian's 127.0.1.1): ask the kernel which way leads to the submitting node.
    return _towards(environ.get("SLURM_LAUNCH_NODE_IPADDR", "")) or _of_name(name) or "127.0.0.1"


def free(port: int) -> bool:
    """Whether a server of this user could listen on the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((_ANY, port))
            tried.listen(1)
        except OSError:
            return False
    return True


def faults(told: Mapping[str, Any], arch: str, gpus: int) -> Sequence[str]:
    """Why a node cannot take its steps, in words."""
    name = told["node"]
    found = []
    if told.get("error"):
        found.append("%s: %s" % (name, told["error"]))
    if arch and told.get("arch") != arch:
        found.append("%s is %s, the cluster file says %s" % (name, told.get("arch"), arch))
    found += [_busy(port, name, told.get("runs", {}).get(str(port))) for port in told.get("busy", ())]
    seen = [each for each in str(told.get("gpus", "")).split(",") if each]
    if gpus and seen[:gpus] != [str(number) for number in range(gpus)]:
        shown = "GPUs %s" % ",".join(seen) if seen else "no GPUs"
        found.append("%s shows %s to a step, %d numbered from 0 are wanted" % (name, shown, gpus))
    return found


def _busy(port: int, node: str, run: Optional[str]) -> str:
    return "port %d of %s is in use" % (port, node) + (" by the run `%s`" % run if run else "")


def absent(told: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """The paths that nodes miss, in words: each once, with all nodes that miss it."""
    found: Dict[str, List[str]] = {}
    for node in told:
        for path in node.get("missing", ()):
            found.setdefault(path, []).append(str(node["node"]))
    return ["`%s` does not exist on %s" % (path, ", ".join(names)) for path, names in found.items()]


def _of_interface(name: str) -> str:
    request = struct.pack("256s", name.encode("utf-8")[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            return socket.inet_ntoa(fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, request)[20:24])
        except OSError as error:
            known = ", ".join(each for _, each in socket.if_nameindex())
            reason = "has no IPv4 address" if error.errno == errno.EADDRNOTAVAIL else "does not exist"
            raise OSError("interface `%s` %s (there are %s)" % (name, reason, known)) from error


def _of_name(name: str) -> Optional[str]:
    try:
        return socket.gethostbyname(name)
    except OSError:
        return None


def _towards(other: str) -> Optional[str]:
    if not other:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect((other, 9))
            found = str(asked.getsockname()[0])
        except OSError:
            return None
    return None if found.startswith("127.") else found
