"""Envoy's bootstrap: each request is shown to the EPP and then sent where that says.

After llm-d's own (`config/charts/llm-d-router-standalone/values.yaml` of llm-d-router 0.10.0), with these differences,
all seen with Envoy 1.40:

- The admin port listens on loopback, as there; `/ready` and `/stats/prometheus` alone are served to other nodes.
- `/metrics` is answered 404: it would be that of whatever worker is picked.
- Headers that say where a request goes are taken off what clients send: the EPP alone sets them.
- An EPP that is gone is an error (`failure_mode_allow` off): the run ends with it.
- The access log says which endpoint was picked and which prefill worker.

Numbers. Requests to workers take as long as a completion does: no timeout below a day, as there. Envoy's own breakers
allow 1024 connections and requests; each request under way holds a stream to the EPP, so that of 2000 at once some got
a 500 (llm-d/llm-d issue 1582). 40000 is what that file has, and 1000 s for the EPP to answer a message.
"""

from typing import Any

from launcher.roles.base import Net, Replica
from launcher.roles.llm_d.addresses import GRPC, HTTP, picker
from launcher.run.script import ref

ADMIN = "admin"
STATUS = "status"

EXT_PROC = "ext_proc"
WORKERS = "workers"
_ADMIN_CLUSTER = "admin"

DESTINATION = "x-gateway-destination-endpoint"
"""Header that the EPP names the endpoint by; Envoy connects to it."""

PREFILLER = "x-prefiller-host-port"
"""Header that the EPP names the prefill worker by; the sidecar asks it."""

_STEERING = (
    DESTINATION,
    PREFILLER,
    "x-encoder-hosts-ports",
    "x-data-parallel-host-port",
    "x-kv-cache-source-host-port",
)

_DAY = "86400s"
_BREAKERS = {"max_connections": 40000, "max_pending_requests": 40000, "max_requests": 40000}
_WINDOWS = {"initial_stream_window_size": 65536, "initial_connection_window_size": 1048576}
_LOOPBACK, _EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104

_TYPES = "type.googleapis.com/envoy"
_HTTP = f"{_TYPES}.extensions.filters.http"


def bootstrap(replica: Replica, net: Net) -> dict[str, Any]:
    """The bootstrap of the Envoy that is `replica`."""
    epp = picker(net)
    host = ref("ip", epp.nodes[0]) if epp else _LOOPBACK
    port = epp.ports[GRPC] if epp else 0
    return {
        "admin": {"address": _socket(_LOOPBACK, replica.ports[ADMIN])},
        "static_resources": {
            "listeners": [_public(replica.ports[HTTP]), _status(replica.ports[STATUS])],
            "clusters": [_workers(), _ext_proc(host, port), _admin(replica.ports[ADMIN])],
        },
    }


def _socket(address: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": address, "port_value": port}}


def _public(port: int) -> dict[str, Any]:
    routes = [
        {"match": {"path": "/metrics"}, "direct_response": {"status": 404}, "typed_per_filter_config": _unseen()},
        {
            "match": {"prefix": "/"},
            "route": {"cluster": WORKERS, "timeout": _DAY, "idle_timeout": _DAY},
        },
    ]
    manager = {
        "stat_prefix": "public",
        "route_config": {"name": "public", "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [_asking(), _router()],
        "early_header_mutation_extensions": [_stripped()],
        "use_remote_address": True,
        "normalize_path": True,
        "merge_slashes": True,
        "server_header_transformation": "PASS_THROUGH",
        "stream_idle_timeout": _DAY,
        "access_log": [_log()],
    }
    return _listener("public", port, manager)


def _status(port: int) -> dict[str, Any]:
    routes = [
        {"match": {"path": "/ready"}, "route": {"cluster": _ADMIN_CLUSTER}},
        {"match": {"path": "/stats/prometheus"}, "route": {"cluster": _ADMIN_CLUSTER}},
    ]
    manager = {
        "stat_prefix": "status",
        "route_config": {"name": "status", "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": [_router()],
    }
    return _listener("status", port, manager)


def _listener(name: str, port: int, manager: dict[str, Any]) -> dict[str, Any]:
    kind = f"{_TYPES}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    network = {
        "name": "envoy.filters.network.http_connection_manager",
        "typed_config": {"@type": kind, **manager},
    }
    return {"name": name, "address": _socket(_EVERYWHERE, port), "filter_chains": [{"filters": [network]}]}


def _asking() -> dict[str, Any]:
    """The filter that shows a request to the EPP, whole and as it comes in."""
    modes = {
        **dict.fromkeys(("request_header_mode", "response_header_mode"), "SEND"),
        **dict.fromkeys(("request_body_mode", "response_body_mode"), "FULL_DUPLEX_STREAMED"),
        **dict.fromkeys(("request_trailer_mode", "response_trailer_mode"), "SEND"),
    }
    return {
        "name": "envoy.filters.http.ext_proc",
        "typed_config": {
            "@type": f"{_HTTP}.ext_proc.v3.ExternalProcessor",
            "failure_mode_allow": False,
            "grpc_service": {"envoy_grpc": {"cluster_name": EXT_PROC}},
            "processing_mode": modes,
            "message_timeout": "1000s",
        },
    }


def _unseen() -> dict[str, Any]:
    """What keeps a route from the EPP."""
    return {"envoy.filters.http.ext_proc": {"@type": f"{_HTTP}.ext_proc.v3.ExtProcPerRoute", "disabled": True}}


def _router() -> dict[str, Any]:
    kind = f"{_HTTP}.router.v3.Router"
    return {"name": "envoy.filters.http.router", "typed_config": {"@type": kind, "suppress_envoy_headers": True}}


def _stripped() -> dict[str, Any]:
    return {
        "name": "envoy.http.early_header_mutation.header_mutation",
        "typed_config": {
            "@type": f"{_TYPES}.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
            "mutations": [{"remove": name} for name in _STEERING],
        },
    }


def _log() -> dict[str, Any]:
    fields = {
        "time": "%START_TIME%",
        "method": "%REQ(:METHOD)%",
        "path": "%REQ(:PATH)%",
        "status": "%RESPONSE_CODE%",
        "flags": "%RESPONSE_FLAGS%",
        "milliseconds": "%DURATION%",
        "endpoint": f"%REQ({DESTINATION.upper()})%",
        "prefiller": f"%REQ({PREFILLER.upper()})%",
        "request": "%REQ(X-REQUEST-ID)%",
    }
    return {
        "name": "envoy.access_loggers.stdout",
        "typed_config": {
            "@type": f"{_TYPES}.extensions.access_loggers.stream.v3.StdoutAccessLog",
            "log_format": {"json_format": fields},
        },
    }


def _workers() -> dict[str, Any]:
    return {
        "name": WORKERS,
        "type": "ORIGINAL_DST",
        "connect_timeout": "30s",
        "lb_policy": "CLUSTER_PROVIDED",
        "circuit_breakers": {"thresholds": [_BREAKERS]},
        "original_dst_lb_config": {"use_http_header": True, "http_header_name": DESTINATION},
    }


def _ext_proc(host: str, port: int) -> dict[str, Any]:
    options = f"{_TYPES}.extensions.upstreams.http.v3.HttpProtocolOptions"
    check = {
        "timeout": "2s",
        "interval": "10s",
        # Before there is traffic the next check would come after 60 s.
        "no_traffic_interval": "1s",
        "unhealthy_threshold": 3,
        "healthy_threshold": 1,
        "reuse_connection": True,
        "grpc_health_check": {"service_name": "envoy.service.ext_proc.v3.ExternalProcessor"},
    }
    return {
        "name": EXT_PROC,
        "type": "STATIC",
        "connect_timeout": "5s",
        "circuit_breakers": {"thresholds": [{**_BREAKERS, "max_retries": 1024}]},
        "health_checks": [check],
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": options,
                "explicit_http_config": {"http2_protocol_options": _WINDOWS},
            }
        },
        "load_assignment": _only(EXT_PROC, host, port),
    }


def _admin(port: int) -> dict[str, Any]:
    return {
        "name": _ADMIN_CLUSTER,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": _only(_ADMIN_CLUSTER, _LOOPBACK, port),
    }


def _only(cluster: str, host: str, port: int) -> dict[str, Any]:
    return {
        "cluster_name": cluster,
        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _socket(host, port)}}]}],
    }
