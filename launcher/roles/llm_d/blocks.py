"""Blocks that the EPP cuts prompts into, beside those of the workers' KV caches; sizes are in tokens.

Facts, of epp 0.10.0. `precise-prefix-cache-producer` hashes the tokens of events anew, in blocks of
`tokenProcessorConfig.blockSizeTokens` (16 unless told; `blockSize` is its old name, and 0 says nothing), so that its
size need not be the worker's. What of an event fills no block is dropped, and the next event is chained to the last
block that was full (`pkg/kvevents/pool.go:564`, `pkg/kvcache/kvblock/token_processor.go:183`): unless its size divides
the worker's, prompts are found up to there and no further. `approx-prefix-cache-producer`, which the EPP adds to the
default configuration, hashes what it sent itself, in blocks of the size that the worker's metrics tell (`autoTune`),
and of 64 at least (`approximateprefix/plugin.go:344`): no size of it can disagree with a worker's. Of a prompt it looks
at `maxPrefixTokensToMatch`, whole blocks only (`:367`).

Of vLLM 0.11 to 0.33: a block of ranks that share a context is as long as theirs together (0.32:
`v1/core/single_type_kv_cache_manager.py:108`). Untold it has 16 tokens, unless the attention it takes wants another
size.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.roles.llm_d.events import PRODUCER
from launcher.roles.llm_d.references import KEY, listed
from launcher.text.advice import written
from launcher.text.diagnostic import Diagnostic, Label, Severity
from launcher.text.document import KeyPath

_PROCESSOR = "tokenProcessorConfig"
_SIZE, _OLD, _CAP, _TUNED = "blockSizeTokens", "blockSize", "maxPrefixTokensToMatch", "autoTune"
_LEAST = 64
_UNTOLD = 16
_FLAG = "block-size"
_APPROXIMATE = ("approx-prefix-cache-producer", "multicluster-approx-prefix-cache-producer")
_BURST = "burst-prefix-cache-producer"

CODES: Mapping[str, str] = {
    "epp-blocks": """The EPP cuts prompts into blocks by which it finds too little

`precise-prefix-cache-producer` finds a prompt by blocks of `blockSizeTokens`, 16 unless told. What a worker tells comes
in blocks of its own `--block-size`; unless the EPP's size divides it, the end of each event is lost, and whatever
follows it in a conversation is not found. This is a warning. A size that the EPP ends at is an error, and so is
`maxPrefixTokensToMatch` of less than a block, by which no prompt is ever found. Sizes are in tokens.

    # epp.yaml
    - type: precise-prefix-cache-producer
      parameters:
        tokenProcessorConfig: {blockSizeTokens: 64}

    # recipe.toml
    [roles.worker.flags]
    block-size = 64""",
}


def findings(job: Job, role: Role) -> Iterator[Diagnostic]:
    """What is wrong with the sizes in the configuration of the role, alone and beside the workers'."""
    for index, _, kind, parameters in listed(role.epp_config or {}):
        path: KeyPath = (KEY, "plugins", index, "parameters")
        if kind == PRODUCER:
            yield from _precise(job, role, path, parameters)
        elif kind in (*_APPROXIMATE, _BURST):
            yield from _approximate(role, path, kind, parameters)


def _precise(job: Job, role: Role, path: KeyPath, parameters: Mapping[str, Any]) -> Iterator[Diagnostic]:
    given = parameters.get(_PROCESSOR)
    processor = given if isinstance(given, Mapping) else {}
    key = next((key for key in (_SIZE, _OLD) if _number(processor, key)), None)
    size = _UNTOLD if key is None else _number(processor, key)
    place = role.place(*path[:-1], "type") if key is None else role.place(*path, _PROCESSOR, key)
    if size < 0:
        yield Diagnostic("epp-blocks", f"a block cannot have {size} tokens", place, help="take it out")
        return
    told = [(worker, *_block(worker)) for worker in job.workers if worker.kv_events]
    for block in dict.fromkeys(block for _, block, _ in told if block % size):
        those = [(worker, where) for worker, other, where in told if other == block]
        names = " and ".join(f"`{worker.name}`" for worker, _ in those)
        said = [Label(worker.place(*where, part="key"), "its blocks") for worker, where in those if where]
        help_ = f"say `{_SIZE} = {block}`" if said else f"say `{_FLAG} = {size}` in the workers' flags"
        yield Diagnostic(
            "epp-blocks",
            f"the EPP looks for blocks of {size} tokens, and {names} tell{'s' * (len(those) == 1)} of blocks of {block}"
            f"{'' if said else ', unless its attention wants another size'}",
            place,
            Severity.WARNING,
            labels=tuple(said),
            help=written(help_, place) if said else help_,
        )


def _block(worker: Role) -> tuple[int, tuple[str | int, ...]]:
    """Tokens in a block of the worker's events, and where it says so, or nothing."""
    given = Given(worker)
    size = given.number(_FLAG, 0)
    return (size or _UNTOLD) * given.number("decode-context-parallel-size"), given.at(_FLAG) if size else ()


def _approximate(role: Role, path: KeyPath, kind: str, parameters: Mapping[str, Any]) -> Iterator[Diagnostic]:
    tuned = kind != _BURST and parameters.get(_TUNED) is not False
    size = _number(parameters, _SIZE, _LEAST if kind == _BURST else _UNTOLD)
    if size <= 0 and not tuned:
        yield Diagnostic(
            "epp-blocks", f"a block cannot have {size} tokens", role.place(*path, _SIZE), help="take it out"
        )
    least = size if kind == _BURST else _LEAST if tuned else max(size, _LEAST)
    cap = _number(parameters, _CAP)
    if cap < 0 or 0 < cap < least:
        message = f"{cap} tokens of a prompt are not one block, which has {least}, so nothing is ever found"
        place = role.place(*path, _CAP)
        yield Diagnostic("epp-blocks", message, place, help=written(f"say `{_CAP} = 131072`, or take it out", place))


def _number(table: Mapping[str, Any], key: str, untold: int = 0) -> int:
    """The whole number there; what is none is another finding already."""
    value = table.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else untold
