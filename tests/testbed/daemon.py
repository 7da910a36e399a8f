"""A real dockerd, or podman's service, on a socket of its own: nothing of the machine's own daemons is used."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tests.testbed.place import SYSTEM, missing

CONTAINERS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
"""
"""Without these podman 4.3 starts no container where cgroups are not its own."""

REGISTRIES = '[[registry]]\nprefix = "127.0.0.1"\nlocation = "127.0.0.1"\ninsecure = true\n'
POLICY = {"default": [{"type": "insecureAcceptAnything"}]}


@contextmanager
def docker(folder: Path) -> Iterator[str]:
    """A dockerd that keeps everything in `folder`; its `DOCKER_HOST`."""
    _need({"dockerd": "docker.io", "runc": "runc", "unshare": "util-linux"})
    (folder / "daemon.json").write_text("{}")
    # A path of a socket has at most 107 characters, and containerd's are deep in the folder for running ones.
    with tempfile.TemporaryDirectory(prefix="d-") as short:
        host = f"unix://{short}/d.sock"
        words = ["dockerd", f"--host={host}", f"--data-root={folder}/data", f"--exec-root={short}/exec"]
        words += [f"--pidfile={folder}/pid", f"--config-file={folder}/daemon.json", "--storage-driver=overlay2"]
        words += ["--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false"]
        with _running(words, folder, Path(short), {}):
            yield host


@contextmanager
def podman(folder: Path) -> Iterator[str]:
    """`podman system service` that keeps everything in `folder`; its `DOCKER_HOST`."""
    _need({"podman": "podman", "runc": "runc", "unshare": "util-linux"})
    storage = f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    texts = {
        "CONTAINERS_CONF": CONTAINERS,
        "CONTAINERS_REGISTRIES_CONF": REGISTRIES,
        "CONTAINERS_STORAGE_CONF": storage,
    }
    environment = {}
    for name, text in texts.items():
        (folder / name).write_text(text)
        environment[name] = str(folder / name)
    home = folder / "home" / ".config" / "containers"
    home.mkdir(parents=True)
    (home / "policy.json").write_text(json.dumps(POLICY))
    with tempfile.TemporaryDirectory(prefix="d-") as short:
        host = f"unix://{short}/d.sock"
        words = ["podman", "system", "service", "--time=0", host]
        with _running(words, folder, Path(short), {**environment, "HOME": str(folder / "home")}):
            yield host


def _need(programs: Mapping[str, str]) -> None:
    if lacking := missing(programs):
        message = f"tests of builds need Debian's packages {' '.join(lacking)}"
        raise RuntimeError(message)


@contextmanager
def _running(words: Sequence[str], folder: Path, short: Path, environment: Mapping[str, str]) -> Iterator[None]:
    env = {"PATH": SYSTEM, "TMPDIR": str(folder), **environment}
    with (folder / "log").open("wb") as log:
        # What it mounts goes with the last of its processes: a container's own may mount anew once it has ended.
        alone = ["unshare", "--mount", "--", *words]
        process = subprocess.Popen(
            alone, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True
        )
        try:
            _await(short / "d.sock", process, folder / "log")
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _await(path: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with closing(socket.socket(socket.AF_UNIX)) as probe:
            try:
                probe.connect(str(path))
                probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                if b" 200 " in probe.recv(64):
                    return
            except OSError:
                time.sleep(0.05)
    message = f"the daemon did not start: {log.read_text(errors='replace')[-3000:]}"
    raise RuntimeError(message)
