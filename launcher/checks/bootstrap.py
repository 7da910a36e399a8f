"""Envoy's bootstrap, shown to the Envoy that would read it."""

import json
from collections.abc import Iterator

from launcher.model.facts import Bootstrap, Facts
from launcher.model.job import Job
from launcher.plan.step import Plan
from launcher.text.diagnostic import Diagnostic

_MARK = "static_resources"
"""A key that Envoy's bootstraps have at their top."""


def envoy_refuses(job: Job, plan: Plan, facts: Facts) -> Iterator[Diagnostic | Bootstrap]:
    """Envoy does not take the bootstrap that was written for it

    Asked of the Envoy of this machine (`--mode validate`) where there is one: it would end at its start otherwise. An
    Envoy older than the role manifest was made for does not know all that is in it.
    """
    texts = {
        file.path: json.dumps(file.data)
        for file in plan.files
        if isinstance(file.data, dict) and _MARK in file.data and plan.batch is None
    }
    for step in plan.steps:
        text = next(
            (text for path, text in texts.items() if any(word.endswith(f"/{path}") for word in step.words)), None
        )
        if text is None:
            continue
        image = step.reference or ""
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
                help=f"use version {role.manifest.program.version}, which the role manifest was made for",
                exit=4,
            )
