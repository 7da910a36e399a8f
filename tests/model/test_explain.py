"""Who set a key, and to what."""

import pytest

from launcher.model.explain import explain, keys
from launcher.text.diagnostic import Refused
from tests.model.shelf import linked, written

RECIPE = """schema = 1
name = "small"
[defaults]
flags = { max_len = 2048 }
[roles.worker]
manifest = "engine"
flags = { json = { "a.b" = [1, 2] } }
[router]
kind = "gate"
flags = { policy = "any" }
[on.site]
router.flags.policy = "cluster's"
"""

FOUND = [
    ("name", [("recipe", "r.toml", "small")]),
    ("ready.timeout", [("--set", "--set", "9m")]),
    (
        "router.flags.policy",
        [("[router]", "r.toml", "any"), ("[on.site]", "r.toml", "cluster's"), ("--set", "--set", "last")],
    ),
    (
        "roles.worker.flags.max-len",
        [("role manifest", "manifests/engine.toml", 1024), ("[defaults]", "r.toml", 2048)],
    ),
    (
        "roles.worker.flags.max_len",
        [("role manifest", "manifests/engine.toml", 1024), ("[defaults]", "r.toml", 2048)],
    ),
    ('roles.worker.flags.json."a.b"', [("[roles.worker]", "r.toml", [1, 2])]),
    (
        "roles.worker.env.KEEP",
        [("cluster", "0/site.toml", "site"), ("role manifest", "manifests/engine.toml", "manifest")],
    ),
    (
        "roles.worker.version",
        [("role manifest", "manifests/engine.toml", "1.0"), ("cluster", "0/site.toml", "2.0")],
    ),
    ("roles.worker.reference", [("cluster", "0/site.toml", "docker.io/eng:2")]),
    ("router.reference", [("cluster", "0/site.toml", "docker.io/gate:1")]),
    ("roles.worker.image", [("role manifest", "manifests/engine.toml", "eng")]),
    ("cluster.runtime", [("cluster", "0/site.toml", "pyxis")]),
    ("cluster.images.gate", [("cluster", "0/site.toml", "docker.io/gate:1")]),
    ("roles", [("recipe", "r.toml", {"worker": {"manifest": "engine", "flags": {"json": {"a.b": [1, 2]}}}})]),
]

JOB = linked(RECIPE, cluster="site", sets=["router.flags.policy=last", "ready.timeout=9m"])


@pytest.mark.parametrize(("key", "settings"), FOUND, ids=[row[0] for row in FOUND])
def test_settings(key: str, settings: list[tuple[str, str, object]]) -> None:
    found = explain(JOB, key)
    assert [(one.layer, one.place.document.name, one.value) for one in found] == settings
    assert all(one.place.span().end > 0 for one in found)


ABSENT = [
    ("router.flags.polcy", "not-set nobody set `router.flags.polcy`", "did you mean `router.flags.policy`?"),
    ("prots.shift", "not-set nobody set `prots.shift`", "`launch schema recipe` has every key and its default"),
    ("ports.shift", "not-set nobody set `ports.shift`: its default is `0`", None),
    ("ports.public", "not-set nobody set `ports.public`: port of the public URL; default 8000 + `shift`", None),
    ("cluster.python", 'not-set nobody set `cluster.python`: its default is `"python3"`', None),
    ("roles.wroker.image", "not-set nobody set `roles.wroker.image`", "did you mean `roles.worker.image`?"),
    (
        "a b",
        "toml-syntax --explain:1:3 expected nothing more after the key",
        "the parts of a key are joined by dots, and quoted if not of A-Z a-z 0-9 _ -",
    ),
]


@pytest.mark.parametrize(("key", "finding", "help_"), ABSENT, ids=[row[0] for row in ABSENT])
def test_keys_nobody_set(key: str, finding: str, help_: str | None) -> None:
    with pytest.raises(Refused) as error:
        explain(JOB, key)
    (found,) = error.value.diagnostics
    assert (written(found), found.help, found.exit) == (finding, help_, 2)


def test_every_key_can_be_explained() -> None:
    known = keys(JOB)
    assert len(known) > 40
    for key in known:
        if "[" not in key:
            assert explain(JOB, key)[-1].origin.path
