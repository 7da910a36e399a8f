"""Mistakes that cost people an allocation: each is found where it stands, and told what to write instead.

Rows are the mistake's number among those that were made on purpose, the engine, its version, the line, what is marked
of it, the finding, and its help. Kinds of them are in `tests/checks/test_mistakes.py`.
"""

from pathlib import Path

import pytest

from launcher.checks import check
from launcher.execute.library import Files
from launcher.model.link import Request, link
from launcher.text.diagnostic import Diagnostic, Refused, Severity
from launcher.text.report import full
from tests.checks.casefile import adapters

RECIPE = """schema = 1
name = "r"
{router}
[model]
path = "/models/tiny"
served_name = "tiny"

[roles.worker]
manifest = "{engine}"
version = "{version}"
gpus = 1

[{role}.flags]
{line}
"""
V, S, T = ("vllm", "0.33.0"), ("sglang", "0.5.23"), ("trtllm", "1.3.0rc7")
CONNECTOR = 'kv-transfer-config = { kv_connector = "NixlConnector", '

MISTAKES = [
    (1, V, "tensor-paralel-size = 4", "tensor-paralel-size", "did you mean `tensor-parallel-size`?"),
    (1, S, "mem-fraction-statc = 0.8", "mem-fraction-statc", "did you mean `mem-fraction-static`?"),
    (2, V, 'tensor-parallel-size = "eight"', '"eight"', "write a number: `tensor-parallel-size = 1`"),
    (2, V, 'tensor-parallel-size = "8"', '"8"', "write it without quotes: `tensor-parallel-size = 8`"),
    (2, S, 'max-running-requests = "many"', '"many"', "write a number: `max-running-requests = …`"),
    (3, V, "mem-fraction-static = 0.8", "mem-fraction-static", "is SGLang's; vLLM's is `gpu-memory-utilization`"),
    (3, S, "gpu-memory-utilization = 0.8", "gpu-memory-utilization", "is vLLM's; SGLang's is `mem-fraction-static`"),
    (4, ("smg", "1.13.0"), 'polcy = "random"', "polcy", "did you mean `policy`?"),
    (5, S, 'nsa-decode-backend = "trtllm"', "nsa-decode-backend", "use `dsa-decode-backend`"),
    (5, V, 'guided-decoding-backend = "xgrammar"', "guided-decoding-backend", "`structured-outputs-config = {"),
    (6, S, 'reasoning_parser = "deepseek-r1"', "reasoning_parser", "did you mean `reasoning-parser`?"),
    (6, T, "tp-size = 4", "tp-size", "did you mean `tp_size`?"),
    (7, V, 'enable-prefix-caching = "true"', '"true"', "write `enable-prefix-caching = true`"),
    (7, S, "trust-remote-code = 1", "1", "write `trust-remote-code = true`"),
    (8, V, 'kv-cache-dtype = "fp9"', '"fp9"', "did you mean `fp8`?"),
    (8, V, 'tool-call-parser = "hermse"', '"hermse"', "did you mean `hermes`?"),
    (8, S, 'attention-backend = "flashinfr"', '"flashinfr"', "did you mean `flashinfer`?"),
    (9, V, f'{CONNECTOR}kv_rol = "kv_both" }}', "kv_rol", "did you mean `kv_role`?"),
    (9, V, f'{CONNECTOR}kv_role = "both" }}', '"both"', "kv_both"),
    (9, V, """kv-transfer-config = '{"kv_connector": '""", """'{"kv_connector": '""", "write a TOML table"),
]


def found(folder: Path, program: tuple[str, str], line: str) -> list[Diagnostic]:
    """What `launch check` finds in a recipe whose engine, or router, has the line."""
    name, version = program
    router = name == "smg"
    text = RECIPE.format(
        router='\n[router]\nkind = "smg"\n' if router else "",
        engine="sim" if router else name,
        version="0.1.0" if router else version,
        role="router" if router else "roles.worker",
        line=line,
    )
    (folder / "r.toml").write_text(text, encoding="utf-8")
    try:
        job = link(Files({}, site=folder / "nowhere", directory=folder), Request("r.toml", "local"))
    except Refused as refused:
        return list(refused.diagnostics)
    return list(check(job, adapters(job)))


@pytest.mark.parametrize(("number", "program", "line", "marked", "help_"), MISTAKES)
def test_it_is_found_where_it_stands(
    number: int, program: tuple[str, str], line: str, marked: str, help_: str, tmp_path: Path
) -> None:
    told = [each for each in found(tmp_path, program, line) if each.code in ("unknown-flag", "flag-value")]
    assert told, line
    drawn = f"{full(told)}\n"
    row = (tmp_path / "r.toml").read_text(encoding="utf-8").splitlines().index(line) + 1
    at = line.index(marked)
    assert f"r.toml:{row}:{at + 1}\n" in drawn
    assert f"| {' ' * at}{'^' * len(marked)}\n" in drawn
    assert help_ in drawn


@pytest.mark.parametrize("line", ["tensor-paralel-size = 4", 'kv-cache-dtype = "fp9"', 'max-num-seqs = "x"'])
def test_a_version_without_a_catalogue_warns_and_does_not_refuse(line: str, tmp_path: Path) -> None:
    told = [each for each in found(tmp_path, ("vllm", "0.99.0"), line) if each.code != "node-has-no-gpus"]
    assert {each.severity for each in told} == {Severity.WARNING}, full(told)
    assert {each.code for each in told} >= {"catalogue-missing"}
    assert len(told) >= 2
