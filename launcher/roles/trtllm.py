"""TensorRT-LLM: `trtllm-serve`, one MPI program over all nodes of a replica, one rank a GPU.

Facts of TensorRT-LLM 1.2 to 1.4 (main at 029e223). `trtllm-llmapi-launch` runs the server on rank 0 and workers on the
others. Flags have underscores; the YAML of `--config` (before 1.3 only `--extra_llm_api_options`) counts more than
flags, and a key it does not know ends the server. The launcher writes it from the role's `config`, as JSON, which is
YAML. `trtllm-llmapi-launch` puts words together without quoting them, so none may have a space. Text for Prometheus is
at `/prometheus/metrics`, and only with `return_perf_metrics`. The default host is localhost.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.model.manifest import Metrics, Port
from launcher.roles.base import Endpoint, Net, Replica, Scheme, Task
from launcher.roles.command import flags, gates, program
from launcher.roles.engine import CODES, HTTP, Engine, file_path, ranks_not_gpus
from launcher.run.script import File, Gate, ref
from launcher.text.advice import written
from launcher.text.diagnostic import Diagnostic, Severity
from launcher.text.suggest import nearest

_SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "context_parallel_size")
_EXPERTS = ("moe_tensor_parallel_size", "moe_expert_parallel_size", "moe_cluster_parallel_size")
_PERF = "return_perf_metrics"
_UNSET = "unset"
_SPACE = re.compile(r"\s")


class Trtllm(Engine):
    """An endpoint a replica; its step spans all of its nodes."""

    reads: ClassVar[frozenset[str]] = frozenset(("config",))
    sizes: ClassVar[tuple[str, ...]] = _SIZES
    codes: ClassVar[Mapping[str, str]] = {
        **CODES,
        "unknown-config-key": """The engine's YAML has no such key

`config` becomes the file of `--config`. TensorRT-LLM ends when it has a key that it does not know, at the top or in a
table. What is near a known key is refused; any other unknown key is a warning, since keys come with every version.

    [roles.worker.config]
    enable_atention_dp = true           # did you mean `enable_attention_dp`?""",
        "experts-not-ranks": """The experts are spread over another number of ranks than there are

`moe_tensor_parallel_size` × `moe_expert_parallel_size` × `moe_cluster_parallel_size` must be `tensor_parallel_size`,
where more than one of them is given. Source: TensorRT-LLM `mapping.py`.""",
        "word-with-space": """TensorRT-LLM's launcher takes no word with a space

`trtllm-llmapi-launch` puts the server's words into one line without quotes, and a shell parts them again at spaces.
Put the value into `config`, which is a file.""",
    }

    def ports(self, role: Role, nodes: int = 1) -> Mapping[str, Port]:
        return {HTTP: Port(base=6100, step=32), **role.manifest.ports}

    def steps(self, replica: Replica) -> int:
        return 1

    def metrics(self, role: Role) -> Metrics | None:
        return role.manifest.metrics if _scheme(role) == "http" and _config(role).get(_PERF) else None

    def endpoints(self, replica: Replica) -> tuple[Endpoint, ...]:
        role = replica.role
        if role.mode is None:
            return ()
        url = f"{_scheme(role)}://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}"
        return (Endpoint(replica.name, role.name, url, role.mode, "trtllm", _scheme(role)),)

    def files(self, role: Role, net: Net) -> Iterator[File]:
        yield File(file_path(role), data=_config(role))

    def tasks(self, replica: Replica, net: Net) -> tuple[Task, ...]:
        role, count = replica.role, len(replica.gpus) * len(replica.nodes)
        words = (
            *program(replica, net),
            *(() if net.model is None else (net.model,)),
            f"--host={ref('ip', replica.nodes[0])}",
            f"--port={replica.ports[HTTP]}",
            *_known(role, "served_model_name", net.served_name),
            f"{_file_flag(role)}={ref('run')}/{file_path(role)}",
            *flags(role),
        )
        asked = Gate("tcp", f"tcp://{ref('ip', replica.nodes[0])}:{replica.ports[HTTP]}")
        opened = gates(replica, net) if _scheme(role) == "http" else (asked,)
        return (Task(words, {}, opened, replica.nodes, max(count, 1), mpi=True),)

    def check(self, job: Job, role: Role, endpoints: tuple[Endpoint, ...] = ()) -> Iterator[Diagnostic]:
        yield from super().check(job, role, endpoints)
        yield from _unknown(role)
        yield from _experts(role)
        yield from _spaced(job, role)

    def arithmetic(self, job: Job, role: Role) -> Iterator[Diagnostic]:
        yield from ranks_not_gpus(job, role, _said(role), _SIZES)


def _spaced(job: Job, role: Role) -> Iterator[Diagnostic]:
    for key, value in role.flags.items():
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else ()
        if any(isinstance(text, str) and _SPACE.search(text) for text in texts):
            help_ = "say it in `config`, which is a file"
            yield Diagnostic(
                "word-with-space", f"the value of `{key}` has a space", role.place("flags", key), help=help_
            )
    if _SPACE.search(job.served_name):
        place = job.origins.place(("model", "served_name"))
        yield Diagnostic("word-with-space", "the served name has a space", place, help="use another character")


def _config(role: Role) -> dict[str, Any]:
    """The engine's file: the role's `config`, with what `unset` names as nothing, and metrics unless they are off."""
    found: dict[str, Any] = {_PERF: True, **{key: value for key, value in role.config.items() if key != _UNSET}}
    names = role.config.get(_UNSET)
    for name in names if isinstance(names, list) else ():
        found[str(name)] = None
    return found


def _file_flag(role: Role) -> str:
    has = role.catalogue is None or role.catalogue.exactly("config") is not None
    return "--config" if has else "--extra_llm_api_options"


def _known(role: Role, name: str, value: str) -> Iterator[str]:
    """A flag that only some versions have."""
    if role.catalogue is None or role.catalogue.exactly(name) is not None:
        yield f"--{name}={value}"


def _scheme(role: Role) -> Scheme:
    return "grpc" if Given(role).on("grpc") else "http"


def _said(role: Role) -> Mapping[str, tuple[int, tuple[str | int, ...]]]:
    """Sizes that are given, with where: in `config`, else as flags."""
    given = Given(role)
    found: dict[str, tuple[int, tuple[str | int, ...]]] = {}
    for name in (*_SIZES, *_EXPERTS):
        value = role.config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            found[name] = (value, ("config", name))
        elif given.key(name) is not None:
            found[name] = (given.number(name), given.at(name))
    return found


def _unknown(role: Role) -> Iterator[Diagnostic]:
    names = role.config.get(_UNSET)
    wrong = not isinstance(names, list) or any(not isinstance(name, str) for name in names)
    if names is not None and wrong:
        place = role.place("config", _UNSET)
        help_ = written('write `unset = ["…"]`', place)
        yield Diagnostic("unknown-config-key", "`unset` lists keys of the file", place, help=help_)
    known = role.manifest.config_keys
    if known:
        yield from (
            _strange(role, str(name), ("config", _UNSET), known)
            for name in (names if isinstance(names, list) else ())
            if name not in known
        )
        yield from _keys(role, (), {key: value for key, value in role.config.items() if key != _UNSET}, known)


def _keys(role: Role, path: tuple[str, ...], table: Mapping[str, Any], known: Sequence[str]) -> Iterator[Diagnostic]:
    """Findings for keys that the table at `path` of the file has not, and for those of its own tables."""
    for key, value in table.items():
        inner = role.manifest.config_tables.get(".".join((*path, key)))
        if key not in known:
            yield _strange(role, key, ("config", *path, key), known)
        elif inner is not None and isinstance(value, Mapping):
            yield from _keys(role, (*path, key), value, inner)


def _strange(role: Role, key: str, place: tuple[str, ...], known: Sequence[str]) -> Diagnostic:
    near = nearest(key, list(known))
    table = ".".join(place[1:-1])
    return Diagnostic(
        "unknown-config-key",
        f"`{key}` is no key of {f'`{table}` in ' if table else ''}{role.manifest.program.name}'s file that is known",
        role.place(*place, part="key"),
        Severity.ERROR if near else Severity.WARNING,
        help=f"did you mean `{near}`?" if near else "look it up in the documentation of your version",
    )


def _experts(role: Role) -> Iterator[Diagnostic]:
    said = _said(role)
    given = [name for name in _EXPERTS if name in said]
    product, ranks = 1, said.get(_SIZES[0], (1, ()))[0]
    for name in given:
        product *= said[name][0]
    if given and (product != ranks if len(given) > 1 else ranks % product):
        names = " × ".join(f"`{name}` {said[name][0]}" for name in given)
        yield Diagnostic(
            "experts-not-ranks",
            f"{names} do{'es' * (len(given) == 1)} not go into {ranks} tensor-parallel ranks",
            role.place(*said[given[0]][1]),
            help=f"their product must be {ranks}",
        )


ADAPTER = Trtllm()
