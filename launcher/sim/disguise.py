"""In the place of another engine: its whole command line becomes one of the simulated engine.

`--as PROGRAM --catalogue FILE [--name NAME] -- WORDS…`: WORDS are what would have started the program. They are read by
the program's flag catalogue, and refused as the program would refuse them. `SIM_FLAGS` in the environment has flags of
the simulated engine besides (`--fail-after 3`).
"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.sim import NAME
from launcher.sim.catalogue import Catalogue, Wrong
from launcher.sim.filed import filed

MARK = "--as"
VARIABLE = "SIM_FLAGS"

Values = Mapping[str, Any]


def undisguised(argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The simulated engine's own words for `argv`. Exits 2 where the program would."""
    if not argv or argv[0] != MARK:
        return list(argv)
    made = argparse.ArgumentParser(prog=NAME, allow_abbrev=False)
    made.add_argument(MARK, dest="program", choices=tuple(_PROGRAMS))
    made.add_argument("--catalogue", type=Path, required=True)
    made.add_argument("--name", default="")
    made.add_argument("words", nargs="+")
    given = made.parse_args(list(argv))
    translate, verbs = _PROGRAMS[given.program]
    try:
        catalogue = Catalogue(given.catalogue.read_text(encoding="utf-8"))
        words = _after(given.words, verbs)
        loose, values = catalogue.read(words if translate is trtllm else filed(words, catalogue))
        own = [*translate(loose, values, catalogue)]
        if translate is trtllm:
            own = _ranked(own, environment)
    except Wrong as wrong:
        sys.stderr.write(f"{given.program}: error: {wrong}\n")
        sys.exit(2)
    except (OSError, ValueError) as error:
        made.error(f"argument --catalogue: {error}")
    return [*own, *(("--name", given.name) if given.name else ()), *shlex.split(environment.get(VARIABLE, ""))]


def _after(words: Sequence[str], verbs: Sequence[str]) -> Sequence[str]:
    """What follows the words that name the program and what it is to do."""
    at = max((index for index, word in enumerate(words) if word in verbs), default=-1)
    return words[at + 1 :]


def vllm(loose: Sequence[str], values: Values, catalogue: Catalogue) -> Iterator[str]:
    """As `vllm serve` of 0.20 to 0.33. Raises Wrong for what it refuses once its words are read."""
    size, local = int(values.get("--data-parallel-size", 1)), values.get("--data-parallel-size-local")
    rank, start = values.get("--data-parallel-rank"), values.get("--data-parallel-start-rank")
    headless, hybrid = bool(values.get("--headless")), bool(values.get("--data-parallel-hybrid-lb"))
    if headless and hybrid:
        raise Wrong("data_parallel_hybrid_lb is not applicable in headless mode")
    yield from ("--personality", "vllm")
    yield from _served(loose, values, "--served-model-name", "--model")
    if values.get("--grpc"):
        yield "--grpc"
    ranks, first = size, 0
    if rank is not None:
        ranks, first = 1, int(rank)
    elif hybrid:
        ranks, first = int(local or 1), int(start or 0)
    yield from ("--dp-size", str(ranks), "--dp-start-rank", str(first))
    if "--kv-transfer-config" in values:
        yield f"--kv-transfer-config={json.dumps(values['--kv-transfer-config'])}"
    yield from _vllm_told(values, catalogue)
    yield from _vllm_group(values, size, headless=headless)


_SCALE_OUT = "--enable-scale-out"

# The version from which vLLM writes KV events as maps.
_MAPS = (0, 24)


def _before(version: str, other: tuple[int, int]) -> bool:
    numbers = [int(part) for part in version.split(".")[:2] if part.isdecimal()]
    return len(numbers) == 2 and tuple(numbers) < other


def _vllm_told(values: Values, catalogue: Catalogue) -> Iterator[str]:
    """What others learn of prompts: their tokens, and what the KV cache holds."""
    # From 0.32 on the pages are there only when asked for.
    if values.get(_SCALE_OUT) or not catalogue.knows(_SCALE_OUT):
        yield "--render"
    # Without a prefix cache there is nothing to tell of.
    if isinstance(values.get("--kv-events-config"), dict) and values.get("--enable-prefix-caching", True):
        yield f"--kv-events-config={json.dumps(values['--kv-events-config'])}"
        if _before(catalogue.version, _MAPS):
            yield "--kv-events-arrays"


def _vllm_group(values: Values, size: int, *, headless: bool) -> Iterator[str]:
    nodes, node = int(values.get("--nnodes", 1)), int(values.get("--node-rank", 0))
    local = int(values.get("--data-parallel-size-local") or (1 if "--data-parallel-rank" in values else size))
    start = int(values.get("--data-parallel-rank") or values.get("--data-parallel-start-rank") or 0)
    if headless:
        yield "--headless"
    if nodes > 1:
        place, others, first = (values["--master-addr"], values["--master-port"]), nodes - 1, node == 0
    elif size > local:
        place = (values["--data-parallel-address"], values["--data-parallel-rpc-port"])
        others, first = size // local - 1, start == 0
    else:
        return
    where = f"{place[0]}:{place[1]}"
    yield from ("--gather", where, "--gather-count", str(others)) if first else ("--join", where)


def sglang(loose: Sequence[str], values: Values, catalogue: Catalogue) -> Iterator[str]:
    """As `sglang.launch_server` of 0.5.5 to 0.5.23. Raises Wrong for what it refuses once its words are read."""
    nodes, node = int(values.get("--nnodes", 1)), int(values.get("--node-rank", 0))
    groups = max(int(values.get("--attn-dp-size", 1)), int(values.get("--dp-size", 1)))
    attention = bool(values.get("--enable-dp-attention")) or int(values.get("--attn-dp-size", 1)) > 1
    if attention and int(values.get("--tp-size", 1)) % groups:
        raise Wrong("the attention groups do not divide the tensor-parallel ranks")
    yield from ("--personality", "sglang")
    yield from _served(loose, values, "--served-model-name", "--model-path")
    yield from ("--dp-size", str(groups))
    if values.get("--grpc-mode") or values.get("--smg-grpc-mode"):
        yield "--grpc"
    if "--kv-events-config" in values:
        given = values["--kv-events-config"]
        yield f"--kv-events-config={given if isinstance(given, str) else json.dumps(given)}"
    mode = values.get("--disaggregation-mode")
    if mode:
        yield from ("--disaggregation-mode", str(mode))
    if "--disaggregation-bootstrap-port" in values:
        yield from ("--disaggregation-bootstrap-port", str(values["--disaggregation-bootstrap-port"]))
    if nodes > 1:
        where = str(values["--dist-init-addr"])
        first = ("--gather", where, "--gather-count", str(nodes - 1))
        yield from first if node == 0 else ("--headless", "--join", where)


def trtllm(loose: Sequence[str], values: Values, catalogue: Catalogue) -> Iterator[str]:
    """As `trtllm-serve` of 1.2 to 1.4. Raises Wrong for what it refuses once its words are read."""
    if values.get("--grpc"):
        raise Wrong("the simulated engine speaks no gRPC")
    yield from ("--personality", "trtllm")
    yield from _served(loose, values, "--served_model_name", "--model")
    path = values.get("--config")
    try:
        said = json.loads(Path(str(path)).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from error
    if isinstance(said, dict) and said.get("return_perf_metrics"):
        yield "--prometheus"


def _ranked(own: list[str], environment: Mapping[str, str]) -> list[str]:
    """An MPI rank but the first serves nobody."""
    return own if environment.get("SLURM_PROCID", "0") == "0" else [*own, "--headless"]


def _served(loose: Sequence[str], values: Values, served: str, model: str) -> Iterator[str]:
    """What every engine is told under some name."""
    named = values.get(served)
    name = named[0] if isinstance(named, list) else named
    path = values.get(model) or (loose[0] if loose else None)
    for flag, value in (("--served-model-name", name), ("--model", path)):
        if value:
            yield f"{flag}={value}"
    for flag in ("--host", "--port"):
        if flag in values:
            yield f"{flag}={values[flag]}"


Translate = Callable[[Sequence[str], Values, Catalogue], Iterator[str]]

_PROGRAMS: Mapping[str, tuple[Translate, tuple[str, ...]]] = {
    "vllm": (vllm, ("serve",)),
    "sglang": (sglang, ("sglang.launch_server", "serve")),
    "trtllm-serve": (trtllm, ("trtllm-serve", "serve")),
}
"""Program → what translates its flags, and the words after which they begin."""
