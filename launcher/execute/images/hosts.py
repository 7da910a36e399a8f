"""Hosts of registries: whether one is this machine and speaks TLS, and whose certificates are believed."""

import ipaddress
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from launcher.execute.images.failure import Failure
from launcher.run import account

_PATIENCE = 2.0
"""Seconds that a server on this machine is given to greet."""


def loopback(host: str) -> bool:
    """Whether a host, perhaps with a port, is this machine."""
    name, _ = _parted(host)
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def secured(host: str) -> bool | None:
    """Whether a server on this machine speaks TLS, whoever it shows itself to be; None where none is there.

    Docker, too, asks registries that it lets be insecure, as those of loopback, over TLS first (moby,
    `registry/service_v2.go`).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    name, port = _parted(host)
    try:
        with socket.create_connection((name, port), _PATIENCE) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        # Who answers with an alert has read what it was asked.
        return "ALERT" in (error.reason or "")
    except ConnectionRefusedError:
        return None
    except OSError:
        return False


def authorities(host: str, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Certificates that are believed of one host: where podman and Docker look (containers-certs.d(5))."""
    home = account.known(environ).get("HOME", "/")
    own = Path(environ.get("XDG_CONFIG_HOME") or f"{home}/.config") / "containers"
    places = (own, Path("/etc/containers"), Path("/etc/docker"))
    return tuple(path for place in places for path in sorted((place / "certs.d" / host).glob("*.crt")))


def certificates(environ: Mapping[str, str], more: Iterable[Path] = ()) -> ssl.SSLContext:
    """Those that httpx brings, or `SSL_CERT_FILE`; the machine's own, where a site's authority stands; and `more`.

    Raises Failure for a file that has none.
    """
    named = environ.get("SSL_CERT_FILE") or environ.get("SSL_CERT_DIR") or ""
    with _read(named, "`SSL_CERT_FILE`, or `SSL_CERT_DIR`, names it"):
        context = httpx.create_ssl_context()
    context.load_default_certs()
    for path in more:
        with _read(path, "it holds them as PEM"):
            context.load_verify_locations(path)
    return context


@contextmanager
def _read(path: str | Path, advice: str) -> Iterator[None]:
    """While certificates of a file are read. Raises Failure."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Failure("unreachable", f"`{path}` has no certificate: {reason}", advice) from error


def _parted(host: str) -> tuple[str, int]:
    """Name and port."""
    name, colon, port = host.rpartition(":")
    if colon and not host.endswith("]"):
        return name.strip("[]"), int(port)
    return host.strip("[]"), 443
