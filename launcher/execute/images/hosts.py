"""Hosts of registries: whether one is this machine, and whose certificates are believed."""

import ipaddress
import ssl

import httpx


def loopback(host: str) -> bool:
    """Whether a host, perhaps with a port, is this machine."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def certificates() -> ssl.SSLContext:
    """Those that httpx brings, or `SSL_CERT_FILE`; and the machine's own, where a site's authority stands."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context
