"""What the parts of llm-d know one another by: roles, ports and files."""

from launcher.roles.base import Endpoint, Net, Replica
from launcher.run.script import ref

EPP = "epp"
"""Adapter of the endpoint picker."""

GRPC, HEALTH, METRICS = "grpc", "health", "metrics"
HTTP = "http"

ENDPOINTS_FILE = "llm-d/endpoints.json"
EPP_FILE = "llm-d/epp.json"
ENVOY_FILE = "llm-d/envoy.json"
"""In the run directory. JSON is YAML: the EPP (`sigs.k8s.io/yaml`) and Envoy (by the name's end) read it."""


def address(endpoint: Endpoint) -> tuple[str, str]:
    """Host and port that requests for the endpoint are sent to: its proxy's where it has one."""
    host, _, port = (endpoint.proxy or endpoint.url).partition("://")[2].rpartition(":")
    return host, port


def picker(net: Net) -> Replica | None:
    """The endpoint picker."""
    return next((each for each in net.replicas if each.role.manifest.adapter == EPP), None)


def in_run(path: str) -> str:
    """The path of a file of the run directory, as a late reference."""
    return f"{ref('run')}/{path}"
