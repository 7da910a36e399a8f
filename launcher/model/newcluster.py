"""The text of a new cluster file: keys in the order people read them, what nobody knows yet as comments."""

import json
from collections.abc import Iterator

from launcher.model.survey import Survey

_WIDTH = 39


def text(name: str, survey: Survey) -> str:
    """A file that can be read as it is; `launch cluster init` sets in it what the site tells for certain."""
    return "\n".join(_lines(name, survey)) + "\n"


def runtime(survey: Survey) -> str:
    """What starts containers here: pyxis where Slurm has it, else Apptainer where the node has it."""
    if "container-image" in survey.options:
        return "pyxis"
    if survey.told is not None and "apptainer" in survey.told.programs:
        return "apptainer"
    return "none"


def _lines(name: str, survey: Survey) -> Iterator[str]:
    suffix = {"pyxis": "sqsh", "apptainer": "sif"}.get(runtime(survey), "sqsh")
    yield "# All keys: `launch schema cluster`. `launch cluster doctor` compares this file with the site."
    yield "schema = 1"
    yield f"name = {json.dumps(name)}"
    yield _noted(f"runtime = {json.dumps(runtime(survey))}", "pyxis, apptainer or none")
    yield _noted('# runs = "/scratch/$USER/launch-runs"', "on a file system that all nodes see; default: in your home")
    yield _noted(f"# interface = {json.dumps(_interface(survey))}", _interfaces(survey))
    yield from ("", "[versions]", "", "[node]")
    yield _noted('# local = "/local_scratch"', "folder on a node's own disk; default: /tmp")
    yield from ("", "[slurm]")
    yield _noted('# partition = "batch"', _partitions(survey))
    yield _noted('# account = "team"', ", ".join(survey.accounts or ()) or "who is charged")
    yield _noted('# time = "04:00:00"', "limit of a job")
    yield from ("", "[images]", f'# vllm = "/images/vllm.{suffix}"', f'# smg = "/images/smg.{suffix}"')
    yield from ("", "[models]", '# qwen = "/models/Qwen3-30B-A3B"')


def _noted(line: str, note: str) -> str:
    return f"{line.ljust(_WIDTH - 1)} # {note}"


def _partitions(survey: Survey) -> str:
    names = dict.fromkeys(f"{each.partition} (default)" if each.default else each.partition for each in survey.shapes)
    return ", ".join(names) or "default: Slurm's"


def _interface(survey: Survey) -> str:
    there = {} if survey.told is None else {name: where for name, where in survey.told.interfaces.items() if where}
    return next(iter(there), "ib0")


def _interfaces(survey: Survey) -> str:
    there = {} if survey.told is None else survey.told.interfaces
    found = ", ".join(f"{name} {where}" for name, where in there.items() if where)
    return found or "whose addresses roles are told; default: that of the node's name"
