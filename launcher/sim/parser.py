"""The command line of the simulated engine, refused the way the real engines refuse: exit 2, one line, no guesses."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass

from launcher.sim import NAME
from launcher.sim.events import Events
from launcher.sim.events import parse as events
from launcher.sim.faults import Orders
from launcher.sim.group import Address
from launcher.sim.transfer import Transfer
from launcher.sim.value import address, code, connector, count, index, port, published, seconds

PERSONALITIES = ("vllm", "sglang", "trtllm")
MODES = ("null", "prefill", "decode")
# So bind vLLM 0.32.0, SGLang 0.5.23 and TensorRT-LLM 1.3.
_HOSTS = {"vllm": "0.0.0.0", "sglang": "127.0.0.1", "trtllm": "localhost"}  # noqa: S104
_PORTS = {"vllm": 8000, "sglang": 30000, "trtllm": 8000}


@dataclass(frozen=True)
class Settings:
    """One worker, as its command line and environment want it. Seconds and ports are plain numbers."""

    personality: str
    host: str
    port: int
    name: str
    model: str
    served_name: str
    startup_delay: float
    never_healthy: bool
    first_token_latency: float
    token_latency: float
    dp_size: int
    dp_start_rank: int
    mode: str
    bootstrap_port: int
    transfer: Transfer | None
    side_host: str
    side_port: int
    mooncake_port: int
    handoff_timeout: float
    orders: Orders
    headless: bool = False
    gather: Address | None = None
    gather_count: int = 0
    join: Address | None = None
    prometheus: bool = False
    grpc: bool = False
    events: Events | None = None
    development: bool = False
    render: bool = False

    @property
    def ranks(self) -> range:
        """The data-parallel ranks of this worker, as its metrics are labelled."""
        return range(self.dp_start_rank, self.dp_start_rank + self.dp_size)


def parser() -> argparse.ArgumentParser:
    """The parser; the flag catalogue is made from its actions."""
    made = argparse.ArgumentParser(
        prog=NAME,
        description="A simulated inference engine: the wire of vLLM or SGLang, no model, no GPU.",
        allow_abbrev=False,
    )
    _wire_flags(made)
    _pace_flags(made)
    _handoff_flags(made)
    _group_flags(made)
    _fault_flags(made)
    return made


def actions() -> list[argparse.Action]:
    """Every flag of the parser but `--help`."""
    return [action for action in parser()._actions if action.dest != "help"]  # noqa: SLF001  argparse has no public list


def _wire_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument("--personality", choices=PERSONALITIES, default="vllm", help="whose wire to speak")
    made.add_argument("--host", help="address to listen on (vllm: all, others: loopback)")
    made.add_argument("--port", type=port, help="port to listen on, 0 for a free one (sglang: 30000, others: 8000)")
    made.add_argument("--grpc", action="store_true", help="speak gRPC on the port, in the place of HTTP")
    made.add_argument("--name", help="how this worker calls itself in its answers (sim-PORT)")
    made.add_argument("--model", help="path or name of a model; nothing is loaded")
    made.add_argument("--served-model-name", help="what clients call the model (default: --model, else `sim`)")
    made.add_argument("--prometheus", action="store_true", help="trtllm's page for Prometheus is there")
    made.add_argument("--render", action="store_true", help="tell prompts' tokens: vllm's pages that end in /render")
    made.add_argument("--kv-events-config", type=published, metavar="JSON", help="where KV events are sent")
    made.add_argument("--kv-events-arrays", action="store_true", help="write each KV event as vLLM before 0.24 does")
    made.add_argument("--dp-size", type=count, default=1, help="data-parallel ranks behind this port")
    made.add_argument("--dp-start-rank", type=index, default=0, help="number of the first of them")


def _pace_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--startup-delay", type=seconds, default=0.0, metavar="SECONDS", help="time the model takes to load"
    )
    made.add_argument(
        "--first-token-latency", type=seconds, default=0.0, metavar="SECONDS", help="time to the first token"
    )
    made.add_argument("--token-latency", type=seconds, default=0.0, metavar="SECONDS", help="time between tokens")


def _handoff_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--kv-transfer-config", type=connector, metavar="JSON", help="vLLM's connector for prefill/decode"
    )
    made.add_argument("--disaggregation-mode", choices=MODES, default="null", help="SGLang's part in prefill/decode")
    made.add_argument(
        "--disaggregation-bootstrap-port", type=port, default=8998, help="port of an SGLang prefill's bootstrap server"
    )
    made.add_argument(
        "--handoff-timeout", type=seconds, default=30.0, metavar="SECONDS", help="how long one leg waits for the other"
    )


def _group_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument("--headless", action="store_true", help="serve nobody: a follower of another server")
    made.add_argument("--gather", type=address, metavar="HOST:PORT", help="wait there for the other servers")
    made.add_argument("--gather-count", type=count, metavar="N", help="how many others --gather waits for")
    made.add_argument("--join", type=address, metavar="HOST:PORT", help="where another server waits for this one")


def _fault_flags(made: argparse.ArgumentParser) -> None:
    made.add_argument("--fail-after", type=seconds, metavar="SECONDS", help="die so long after the start")
    made.add_argument("--fail-after-requests", type=count, metavar="N", help="die when N requests were answered")
    made.add_argument("--exit-code", type=code, metavar="N", help="exit code of those two deaths (1)")
    made.add_argument("--hang-after-requests", type=index, metavar="N", help="never answer a request after the first N")
    made.add_argument("--error-after-requests", type=index, metavar="N", help="answer 500 after the first N requests")
    made.add_argument("--never-healthy", action="store_true", help="load for ever")


def settings(argv: Sequence[str] | None = None) -> Settings:
    """The settings in `argv` (None: of this process) and the environment. Exits 2 on a wrong command line."""
    made = parser()
    given = made.parse_args(argv)
    _agree(made, given)
    host = given.host if given.host is not None else _HOSTS[given.personality]
    return Settings(
        personality=given.personality,
        host=host,
        port=given.port if given.port is not None else _PORTS[given.personality],
        name=given.name or "",
        model=given.model or NAME,
        served_name=given.served_model_name or given.model or NAME,
        startup_delay=given.startup_delay,
        never_healthy=given.never_healthy,
        first_token_latency=given.first_token_latency,
        token_latency=given.token_latency,
        dp_size=given.dp_size,
        dp_start_rank=given.dp_start_rank,
        mode=given.disaggregation_mode,
        bootstrap_port=given.disaggregation_bootstrap_port,
        transfer=given.kv_transfer_config,
        side_host=os.environ.get("VLLM_NIXL_SIDE_CHANNEL_HOST", "localhost"),
        side_port=_told(made, "VLLM_NIXL_SIDE_CHANNEL_PORT", "5600"),
        mooncake_port=_told(made, "VLLM_MOONCAKE_BOOTSTRAP_PORT", "8998"),
        handoff_timeout=given.handoff_timeout,
        orders=_orders(given),
        headless=given.headless,
        gather=given.gather,
        gather_count=given.gather_count or 0,
        join=given.join,
        prometheus=given.prometheus,
        grpc=given.grpc,
        events=_events(made, given),
        render=given.render,
        # With it vLLM 0.32.0 serves `/reset_prefix_cache`.
        development=os.environ.get("VLLM_SERVER_DEV_MODE", "0") not in ("", "0"),
    )


def _orders(given: argparse.Namespace) -> Orders:
    return Orders(
        fail_after=given.fail_after,
        fail_after_requests=given.fail_after_requests,
        exit_code=1 if given.exit_code is None else given.exit_code,
        hang_after_requests=given.hang_after_requests,
        error_after_requests=given.error_after_requests,
    )


def _events(made: argparse.ArgumentParser, given: argparse.Namespace) -> Events | None:
    if given.kv_events_config is None:
        return None
    try:
        return events(given.kv_events_config, given.personality, arrays=given.kv_events_arrays)
    except ValueError as fault:
        made.error(f"argument --kv-events-config: {fault}")


def _agree(made: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse flags that need one another and do not have it."""
    if given.kv_transfer_config is not None and given.personality != "vllm":
        made.error("argument --kv-transfer-config: belongs to --personality vllm")
    if given.disaggregation_mode != "null" and given.personality != "sglang":
        made.error("argument --disaggregation-mode: belongs to --personality sglang")
    _spoken(made, given)
    if (given.gather is None) != (given.gather_count is None):
        made.error("arguments --gather and --gather-count: need each other")
    for flag, value in (("--name", given.name), ("--served-model-name", given.served_model_name)):
        if value and not value.isprintable():
            made.error(f"argument {flag}: only printable characters are wanted, not {value!r}")
    if given.exit_code is not None and given.fail_after is None and given.fail_after_requests is None:
        made.error("argument --exit-code: needs --fail-after or --fail-after-requests")


def _spoken(made: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse what the engine would do that is not simulated."""
    for flag, value in (("--grpc", given.grpc), ("--kv-events-config", given.kv_events_config is not None)):
        if value and given.personality == "trtllm":
            made.error(f"argument {flag}: belongs to --personality vllm or sglang")


def _told(made: argparse.ArgumentParser, variable: str, default: str) -> int:
    """The port in a variable; names and defaults are vLLM's (0.32.0). The side channel of rank r is r ports further."""
    try:
        return port(os.environ.get(variable, default))
    except argparse.ArgumentTypeError as fault:
        made.error(f"{variable}: {fault}")
