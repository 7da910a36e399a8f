"""Jobs made by hand: roles on the shipped manifests, or on small ones of a test's own."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from launcher.execute.adapters import known, load
from launcher.model.cluster import Cluster
from launcher.model.job import ROUTER, WORKERS, Job, Origins, Role
from launcher.model.manifest import Manifest
from launcher.model.recipe import Recipe
from launcher.roles.base import Adapters
from launcher.text.document import Document

ROOT = Path(__file__).parents[1]
DOCUMENT = Document("recipe.toml", "", {})
ORIGINS = Origins({}, DOCUMENT)


@cache
def adapters() -> Adapters:
    """All the package has."""
    return load(known())


@cache
def shipped(name: str) -> Manifest:
    """A role manifest of the package."""
    return Manifest.model_validate(tomllib.loads((ROOT / "manifests" / f"{name}.toml").read_text(encoding="utf-8")))


def manifest(name: str = "box", **data: Any) -> Manifest:
    """A small role manifest that starts `true`."""
    whole = {"kind": "service", "about": "a box", "program": {"command": ["true"]}, **data}
    return Manifest.model_validate({"schema": 1, "name": name, **whole})


@cache
def site(name: str) -> Cluster:
    """A cluster of the package."""
    text = (ROOT / "images" / "clusters" / f"{name}.toml").read_text(encoding="utf-8")
    return Cluster.model_validate(tomllib.loads(text))


def cluster(**data: Any) -> Cluster:
    """A cluster of this machine's kind."""
    return Cluster.model_validate({"schema": 1, "name": "here", "scheduler": "local", **data})


def role(name: str, uses: Manifest | str = "sim", **fields: Any) -> Role:
    """A role; its name sets the mode."""
    found = shipped(uses) if isinstance(uses, str) else uses
    return Role(name, WORKERS.get(name), found, ORIGINS, **{"flags": found.flags, "env": found.env, **fields})


def router(uses: Manifest | str = "smg", **fields: Any) -> Role:
    """The router's role."""
    return role(ROUTER, uses, **fields)


def job(*roles: Role, on: Cluster | None = None, **recipe: Any) -> Job:
    """A job of these roles, the router last; without one it is the shipped `direct`."""
    if all(each.name != ROUTER for each in roles):
        roles = (*roles, router("direct"))
    data: Mapping[str, Any] = {"schema": 1, "name": "test", "model": {"served_name": "tiny"}, **recipe}
    return Job(
        recipe=Recipe.model_validate(data),
        document=DOCUMENT,
        cluster=on or cluster(),
        cluster_document=DOCUMENT,
        roles=roles,
        origins=ORIGINS,
        cluster_origins=ORIGINS,
    )
