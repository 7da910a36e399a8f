"""The engine's own file beside its flags: what it cannot say, and what both say."""

from collections.abc import Iterator, Mapping
from typing import Any

from launcher.checks.case import Case
from launcher.checks.flags import drift, owner, severity
from launcher.checks.rules.said import since
from launcher.checks.rules.sglang import SGLANG
from launcher.checks.rules.vllm_parallel import VLLM
from launcher.model.catalogue import Catalogue, Flag
from launcher.model.flag import dashed
from launcher.model.job import Role
from launcher.text.diagnostic import Diagnostic, Label, Severity


def config_value(case: Case) -> Iterator[Diagnostic]:
    """A value cannot stand in the engine's own file

    `config` of vLLM and SGLang becomes the file of `--config`, from which the program makes words as if they stood on
    its command line. Not all that flags take comes through: vLLM drops `false` (up to 0.31 always, then where there is
    no `--no-…`), SGLang ends at a flag that has a negative form or that may be given twice, and what is nothing would
    be the text `None`. Say it in `flags`, which count more.
    Sources: vLLM 0.20 and 0.33 `utils/argparse_utils.py`, SGLang 0.5.9 and 0.5.23 `server_args_config_parser.py`.

        [roles.worker.config]
        enable-prefix-caching = false       # vLLM 0.20.2 would drop it
    """
    for role in case.job.roles:
        catalogue = role.catalogue
        for key, value in role.config.items() if role.manifest.config_flags else ():
            flag = catalogue.find(key) if catalogue else None
            if catalogue is None or flag is None or flag.retired or owner(role, key) is not None:
                continue
            phrase = _lost(catalogue, flag, value)
            if phrase is not None:
                yield Diagnostic(
                    "config-value",
                    f"`{key}` {phrase}",
                    role.place("config", key),
                    severity(role, catalogue),
                    notes=drift(role, catalogue),
                    help="leave the key out" if value is None else f"write it in `flags`: `{flag.key}`",
                )


def _lost(catalogue: Catalogue, flag: Flag, value: Any) -> str | None:
    if value is None:
        return "is nothing, which would become the text `None`"
    if not flag.name.startswith("--"):
        return "has one dash, and in the file all flags have two"
    if isinstance(value, str) and dashed(value):
        return "begins with a dash and would be taken for another flag"
    if isinstance(value, list) and flag.repeat == "append":
        return "can be given but once in the file"
    rule = _RULES.get(catalogue.program)
    return rule(catalogue, flag, value) if rule else None


def _vllm(catalogue: Catalogue, flag: Flag, value: Any) -> str | None:
    if value is not False or not flag.negatives:
        return None
    negated = since(catalogue, 0, 32) and f"--no-{flag.key}" in flag.negatives
    return None if negated else f"is `false`, which {catalogue.program} {catalogue.version} drops without a word"


def _sglang(catalogue: Catalogue, flag: Flag, value: Any) -> str | None:
    # Actions of argparse other than `store` and `store_true`; since 0.5.23 those that take one value are fine too.
    other = flag.kind == "bool" if since(catalogue, 0, 5, 23) else True
    if flag.repeat != "last" or (flag.kind == "bool" and flag.negatives) or (flag.deprecated and other):
        return f"ends {catalogue.program} {catalogue.version} where it stands in its file"
    return None


_RULES = {VLLM: _vllm, SGLANG: _sglang}


def said_in_config(case: Case) -> Iterator[Diagnostic]:
    """A flag and the engine's own file say the same thing

    One of the two does nothing: with vLLM and SGLang flags count more than the file of `--config`, with TensorRT-LLM it
    is the other way round. This is a warning.

        [roles.worker]
        flags = { max-num-seqs = 256 }
        config = { max-num-seqs = 128 }     # does nothing
    """
    for role in case.job.roles:
        for key in role.flags if role.config else ():
            same = _same(role, key)
            if same is None or owner(role, key) is not None:
                continue
            lost, counts = (("config", same), ("flags", key))
            if not role.manifest.config_flags:
                lost, counts = counts, lost
            yield Diagnostic(
                "said-in-config",
                f"`{counts[1]}` in `{counts[0]}` counts more than `{lost[1]}` in `{lost[0]}`",
                role.place(*lost, part="key"),
                Severity.WARNING,
                labels=(Label(role.place(*counts, part="key"), "this counts"),),
                help="say it in one of them",
            )


def _same(role: Role, key: str) -> str | None:
    """The key of `config` that means what the flag does."""
    flag = role.catalogue.find(key) if role.catalogue else None
    if flag is None or role.catalogue is None:
        return None
    if not role.manifest.config_flags:
        return next((each for each in role.config if f"--{each}" in flag.spellings), None)
    others: Mapping[str, Flag | None] = {each: role.catalogue.find(each) for each in role.config}
    return next((each for each, other in others.items() if other is not None and flag.same(other)), None)
