"""Envoy's bootstrap, shown to the Envoy that would read it."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from launcher.model.facts import Bootstrap, Facts
from launcher.model.job import Job
from launcher.plan.step import Plan, Step
from launcher.run.script import bind
from launcher.text.diagnostic import Diagnostic, Severity

_MARK = "static_resources"
"""A key that Envoy's bootstraps have at their top."""

_ADDRESS = "127.0.0.1"

_NAMING = ("cluster", "cluster_name")
"""Keys that name a cluster."""


def envoy_lacks_cluster(job: Job, plan: Plan, facts: Facts) -> Iterator[Diagnostic | Bootstrap]:
    """Envoy's bootstrap names a cluster that is not in it

    Envoy 1.40 looks for the clusters of routes alone: where a filter (`ext_proc`) asks one that is not there, it
    starts, says LIVE, and answers every request with 500.
    """
    for step, path, data in _read(plan):
        there = {each.get("name") for each in data[_MARK].get("clusters", ())}
        for name in sorted({*_named(data)} - there):
            role = next(role for role in job.roles if role.name == step.role)
            message = f"`{path}` asks a cluster `{name}` that it does not have"
            yield Diagnostic(
                "envoy-lacks-cluster", message, role.place("manifest"), help="correct what writes it", exit=4
            )


def _named(data: Any) -> Iterator[str]:
    """The names of clusters anywhere in it."""
    if isinstance(data, Mapping):
        yield from (str(data[key]) for key in _NAMING if isinstance(data.get(key), str))
    for value in data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ():
        yield from _named(value)


def _read(plan: Plan) -> Iterator[tuple[Step, str, Mapping[str, Any]]]:
    """Steps that are told a bootstrap, its path in the run directory, and what is in it."""
    files = {file.path: file.data for file in plan.files if isinstance(file.data, Mapping) and _MARK in file.data}
    for step in plan.steps:
        for path, data in files.items():
            if any(word.endswith(f"/{path}") for word in step.words):
                yield step, path, data


def envoy_refuses(job: Job, plan: Plan, facts: Facts) -> Iterator[Diagnostic | Bootstrap]:
    """Envoy does not take the bootstrap that was written for it

    Asked of the Envoy of this machine (`--mode validate`) where there is one: it would end at its start otherwise. An
    Envoy older than the role manifest was made for does not know all that is in it. Where roles run in containers the
    one in the image may be another, so this is a warning there; without an Envoy here nothing is asked.
    """
    containers = job.cluster.runtime != "none"
    for step, _, data in _read(plan):
        image = "" if containers else step.reference or ""
        # Nodes have their addresses once the job runs; any will do for Envoy to read the rest.
        text = json.dumps(bind(data, defaultdict(lambda: _ADDRESS)))
        question = Bootstrap(text, step.words[0], f"{image.rstrip('/')}/bin" if image.startswith("/") else None)
        answer = facts.get(question)
        if answer is None:
            yield question
        elif not answer.yes:
            role = next(role for role in job.roles if role.name == step.role)
            yield Diagnostic(
                "envoy-refuses",
                f"`{step.words[0]}` does not take its bootstrap: {answer.text}",
                role.place("manifest"),
                Severity.WARNING if containers else Severity.ERROR,
                notes=(f"asked {answer.where}",),
                help=f"use version {role.manifest.program.version}, which the role manifest was made for",
                exit=4,
            )
