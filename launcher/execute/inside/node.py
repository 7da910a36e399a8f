"""What a compute node tells of itself: its own Python runs this text, 3.6 or later, and prints one line of JSON.

Files with credentials are read for the names of hosts alone.
"""

import fcntl
import glob
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
from typing import Any, Dict, Iterator, List

_SIOCGIFADDR = 0x8915
_SECONDS = 20
_VERSION = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
_PROGRAMS = {
    "enroot": ["enroot", "version"],
    "apptainer": ["apptainer", "--version"],
    "nvidia-smi": ["nvidia-smi", "--query-gpu=driver_version,name", "--format=csv,noheader"],
}


def main(order: str) -> None:
    """`order` is JSON: `python`, `paths`, `plugstack`, and by name `folders` and `markers` (files in shared ones)."""
    print(json.dumps(look(json.loads(order))))  # noqa: T201  (its output is the answer)


def look(order: Dict[str, Any]) -> Dict[str, Any]:
    """The answer; never raises."""
    return {
        "node": os.environ.get("SLURMD_NODENAME") or os.uname().nodename,
        "arch": os.uname().machine,
        "python": said([order["python"], "-c", _VERSION]),
        "pythons": pythons(),
        "interfaces": {name: address(name) for _, name in socket.if_nameindex() if name != "lo"},
        "programs": {name: text for name, text in ((name, said(words)) for name, words in _PROGRAMS.items()) if text},
        "missing": [path for path in order["paths"] if not os.path.exists(path)],
        "closed": [name for name, path in order["folders"].items() if not os.access(above(path), os.W_OK | os.X_OK)],
        "compressors": compressors(),
        "kernel": kernel(["/boot/config-%s" % os.uname().release, "/proc/config.gz"]),
        "plugstack": list(plugstack(order["plugstack"])) if order["plugstack"] else [],
        "credentials": list(credentials()),
        "namespaces": namespaces(),
        "shared": {name: os.path.exists(path) for name, path in order["markers"].items()},
    }


def said(words: List[str]) -> str:
    """The first line that a program prints; empty where it cannot be run or fails."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def compressors() -> List[str]:
    """What `unsquashfs` reads, by which enroot unpacks images; nothing where it is not there."""
    # Of squashfs-tools 4.3 to 4.6 a line each, indented; its exit code differs.
    text = printed(["unsquashfs", "-help"])
    found = re.search(r"^Decompressors available:\n((?:[ \t]+\w.*\n?)+)", text, re.MULTILINE)
    return [line.split()[0] for line in found.group(1).splitlines()] if found else []


def kernel(paths: List[str]) -> List[str]:
    """What the kernel mounts of squashfs, by the first of these configurations that can be read; nothing without."""
    for path in filter(os.path.exists, paths):
        # With `-f` it hands on what is not compressed as it is.
        found = re.findall(r"^CONFIG_SQUASHFS_(ZLIB|LZ4|LZO|XZ|ZSTD)=y$", printed(["gzip", "-dcf", path]), re.MULTILINE)
        if found:
            return ["gzip" if name == "ZLIB" else name.lower() for name in found]
    return []


def printed(words: List[str]) -> str:
    """All that a program prints, whatever its exit code is; nothing where it cannot be run."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def pythons() -> Dict[str, str]:
    """Pythons of PATH that can run the supervisor: path → version."""
    names = ["python3"] + ["python3.%d" % minor for minor in range(15, 8, -1)]
    found = {}
    for path in filter(None, map(shutil.which, names)):
        version = said([path, "-c", _VERSION])
        if version and tuple(map(int, version.split("."))) >= (3, 9):
            found[path] = version
    return found


def address(name: str) -> str:
    """The IPv4 address of an interface, or nothing."""
    request = struct.pack("256s", name.encode("utf-8")[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            return socket.inet_ntoa(fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, request)[20:24])
        except OSError:
            return ""


def above(path: str) -> str:
    """The path, or what is nearest above it and there."""
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def plugstack(path: str, depth: int = 3) -> Iterator[str]:
    """The lines of pyxis in plugstack.conf and what it includes, so deep."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split() or [""]
        if words[:1] == ["include"] and len(words) > 1:
            for each in sorted(glob.glob(os.path.join(os.path.dirname(path), words[1]))):
                if depth:
                    yield from plugstack(each, depth - 1)
        elif "pyxis" in line and words[0] in ("required", "optional"):
            yield " ".join(words)


def credentials() -> Iterator[Dict[str, Any]]:
    """Files that enroot and Apptainer read for registries, with the hosts named there."""
    home = os.environ.get("HOME", "")
    for name, read in ((".config/enroot/.credentials", _netrc), (".apptainer/docker-config.json", _docker)):
        path = os.path.join(home, name)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                mode, text = os.fstat(file.fileno()).st_mode, file.read(1 << 20)
        except OSError:
            continue
        yield {"file": path, "hosts": sorted(set(read(text))), "exposed": bool(mode & 0o077)}


def _netrc(text: str) -> List[str]:
    return re.findall(r"^\s*machine\s+(\S+)", text, re.MULTILINE)


def _docker(text: str) -> List[str]:
    try:
        return [re.sub(r"^\w+://|/.*", "", name) for name in json.loads(text).get("auths", {})]
    except (ValueError, AttributeError, TypeError):
        return []


def namespaces() -> bool:
    """Whether ordinary users may make user namespaces, as far as the kernel says."""
    for name, wanted in (("user/max_user_namespaces", "1"), ("kernel/unprivileged_userns_clone", "1")):
        try:
            with open("/proc/sys/" + name, encoding="ascii") as file:
                if int(file.read()) < int(wanted):
                    return False
        except (OSError, ValueError):
            continue
    return True


if __name__ == "__main__":
    main(sys.argv[1])
