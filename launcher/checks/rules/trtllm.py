"""TensorRT-LLM: its YAML and its flags."""

from collections.abc import Iterator
from dataclasses import replace

from launcher.checks.case import Case
from launcher.checks.rules.said import code, said
from launcher.text.diagnostic import Diagnostic, Severity

PROGRAM = "trtllm-serve"
_FILES = ("config", "extra_llm_api_options")
_OWN = ("backend", "config", "extra_llm_api_options", "host", "log_level", "port", "served_model_name")


def trtllm_config(case: Case) -> Iterator[Diagnostic]:
    """The YAML of trtllm-serve counts more than its flags

    What the file of `config` (`extra_llm_api_options`) says replaces the flag of the same name, the other way round
    than with vLLM and SGLang: a flag may be there and do nothing. This is a warning.
    Source: TensorRT-LLM 1.2 to main, `commands/serve.py`.

        flags = { config = "serve.yaml", tp_size = 8 }
    """
    for one in said(case, PROGRAM):
        file = next((name for name in _FILES if one.value(name) is not None), None)
        doubtful = [key for key in one.role.flags if key.replace("-", "_") not in _OWN]
        if file is None or not doubtful:
            continue
        named = ", ".join(f"`{key}`" for key in doubtful[:4]) + " …" * (len(doubtful) > 4)
        finding = one.finding(
            code(trtllm_config),
            f"what `{one.key(file)}` says counts more than {named}",
            file,
            "say each thing in one of them",
        )
        yield replace(finding, severity=Severity.WARNING)


RULES = (trtllm_config,)
