"""What a role is put together from, and where each of its keys came from."""

from typing import Any

import pytest

from launcher.model.job import Role
from launcher.model.link import Request, link
from launcher.model.recipe import Mount
from tests.model.shelf import ENGINE, SITE, Shelf, linked, refused

RECIPE = """schema = 1
name = "small"
[defaults]
env = { LOG = "debug", D = "1" }
flags = { max_len = 2048 }
[roles.cache]
manifest = "box"
image = "box"
[roles.decode]
manifest = "engine"
env = { D = "2", R = "3" }
[roles.prefill]
manifest = "engine"
flags = { max-len = 4096, tp = 2 }
replicas = 3
gpus = 4
[router]
kind = "gate"
env_from = ["TOKEN"]
flags = { policy = "any" }
on = "prefill"
"""


def role(recipe: str, name: str, **asked: Any) -> Role:
    return next(role for role in linked(recipe, **asked).roles if role.name == name)


def chain(found: Role, *path: str | int) -> list[tuple[str, str, tuple[str | int, ...]]]:
    """Layer, document and path of each origin of a key."""
    return [(origin.layer, origin.document.name, origin.path) for origin in found.origins.chains[path]]


def test_roles_come_workers_first_and_the_router_last() -> None:
    job = linked(RECIPE, cluster="site")
    assert [(role.name, role.mode, role.manifest.name) for role in job.roles] == [
        ("decode", "decode", "engine"),
        ("prefill", "prefill", "engine"),
        ("cache", None, "box"),
        ("router", None, "gate"),
    ]
    assert job.manifests == ("box", "direct", "engine", "gate")
    assert job.router.manifest_document is not None
    assert job.router.manifest_document.name == "manifests/gate.toml"


def test_the_benchmark_comes_last_and_has_no_defaults() -> None:
    load = 'schema = 1\nname = "load"\nabout = "x"\nkind = "benchmark"\nenv = { A = "0", B = "0" }\n'
    shelf = Shelf({"r.toml": RECIPE + '[benchmark]\nmanifest = "load"\nenv = { A = "1" }\n'}, manifests={"load": load})
    found = link(shelf, Request("r.toml", "local")).roles[-1]
    assert (found.name, found.mode, found.manifest.name) == ("benchmark", None, "load")
    assert found.env == {"A": "1", "B": "0"}
    assert [(layer, path) for layer, _, path in chain(found, "env", "A")] == [
        ("role manifest", ("env", "A")),
        ("[benchmark]", ("benchmark", "env", "A")),
    ]
    assert len(linked(RECIPE).roles) == 4


@pytest.mark.parametrize("name", ["router", "benchmark"])
def test_names_of_tables_are_no_names_of_roles(name: str) -> None:
    (found,) = refused(Shelf({"r.toml": RECIPE + f'[roles.{name}]\nmanifest = "box"\n'}), Request("r.toml"))
    assert found.startswith("wrong-value r.toml:") and "is reserved" in found


def test_a_worker_is_merged_from_cluster_manifest_defaults_and_its_table() -> None:
    decode = role(RECIPE, "decode", cluster="site")
    assert decode.env == {"KEEP": "manifest", "SITE": "1", "LOG": "debug", "D": "2", "R": "3"}
    assert decode.flags == {"verbose": True, "max_len": 2048}
    assert (decode.replicas, decode.gpus, decode.on) == (1, 0, None)
    assert chain(decode, "env", "KEEP") == [
        ("cluster", "0/site.toml", ("env", "KEEP")),
        ("role manifest", "manifests/engine.toml", ("env", "KEEP")),
    ]
    assert chain(decode, "env", "D") == [
        ("[defaults]", "r.toml", ("defaults", "env", "D")),
        ("[roles.decode]", "r.toml", ("roles", "decode", "env", "D")),
    ]


def test_a_flag_is_one_key_in_all_layers_however_it_is_spelt() -> None:
    prefill = role(RECIPE, "prefill", cluster="site")
    assert prefill.flags == {"verbose": True, "max-len": 4096, "tp": 2}
    assert chain(prefill, "flags", "max-len") == [
        ("role manifest", "manifests/engine.toml", ("flags", "max-len")),
        ("[defaults]", "r.toml", ("defaults", "flags", "max_len")),
        ("[roles.prefill]", "r.toml", ("roles", "prefill", "flags", "max-len")),
    ]


def test_a_flag_is_one_key_by_each_of_the_programs_names_for_it() -> None:
    found = role(RECIPE, "prefill", cluster="site", sets=["roles.prefill.flags.tensor-size=8"])
    assert found.flags == {"verbose": True, "max-len": 4096, "tensor-size": 8}
    assert [layer for layer, _, _ in chain(found, "flags", "tensor-size")] == ["[roles.prefill]", "--set"]


def test_defaults_lie_under_workers_only() -> None:
    job = linked(RECIPE, cluster="site")
    assert [role.env.get("D") for role in job.roles] == ["2", "1", None, None]


def test_what_is_no_worker_is_merged_from_cluster_manifest_and_its_table() -> None:
    router = role(RECIPE, "router", cluster="site")
    assert (router.env, router.flags) == ({"KEEP": "site", "SITE": "1"}, {"policy": "any"})
    assert (router.env_from, router.on, router.reference) == (("TOKEN",), "prefill", "docker.io/gate:1")
    assert chain(router, "flags", "policy") == [("[router]", "r.toml", ("router", "flags", "policy"))]


def test_a_recipe_without_router_has_the_direct_one() -> None:
    job = linked("schema = 1\nname = 'x'\n[roles.worker]\nmanifest = 'engine'\n", cluster="site")
    assert (job.router.manifest.name, job.router.image, job.router.replicas) == ("direct", None, 1)
    assert job.router.place("flags", "x").document.name == "r.toml"


def test_a_place_of_what_a_role_does_not_say_is_its_table() -> None:
    place = role(RECIPE, "decode", cluster="site").place("gpus")
    assert (place.document.name, place.path, place.part) == ("r.toml", ("roles", "decode"), "key")


VERSIONS = [
    ("local", "", "1.0", ["role manifest"]),
    ("site", "", "2.0", ["role manifest", "cluster"]),
    ("site", "version = '3.0'", "3.0", ["role manifest", "cluster", "[roles.worker]"]),
    ("local", "version = '3.0'", "3.0", ["role manifest", "[roles.worker]"]),
    ("site", "image = 'box'", "1.0", ["role manifest"]),
]


@pytest.mark.parametrize(("cluster", "line", "version", "layers"), VERSIONS)
def test_versions(cluster: str, line: str, version: str, layers: list[str]) -> None:
    recipe = f"schema = 1\nname = 'x'\n[roles.worker]\nmanifest = 'engine'\n{line}\n"
    found = role(recipe, "worker", cluster=cluster)
    assert found.version == version
    assert [layer for layer, _, _ in chain(found, "version")] == layers
    assert found.catalogue is not None
    assert found.catalogue.version == min(version, "2.0")


REFERENCES = [
    ("docker.io/vllm/engine:v0.33.0", "0.33.0"),
    ("vllm/engine:v0.33.0-cu130", "0.33.0"),
    ("docker://vllm/engine:0.33.0@sha256:" + "a" * 64, "0.33.0"),
    ("docker.io#vllm/engine:v0.5.16.post1-cu129-amd64", "0.5.16.post1"),
    ("docker.io/vllm/engine:1.3.0rc24", "1.3.0rc24"),
    ("nvcr.io/nvidia/many:1.6.1", "1.6.1"),
    ("docker.io/vllm/engine:nightly-0123", "1.0"),
    ("docker.io/vllm/engine", "1.0"),
    ("docker.io/vllm/other:v0.33.0", "1.0"),
    ("registry.site:5000/vllm/engine:v0.33.0", "1.0"),
    ("/images/engine-v0.33.0.sqsh", "1.0"),
]


@pytest.mark.parametrize(("reference", "version"), REFERENCES)
def test_a_tag_is_a_version_where_its_image_says_so(reference: str, version: str) -> None:
    site = f'schema = 1\nname = "site"\nruntime = "pyxis"\n[images]\neng = "{reference}"\n'
    recipe = 'schema = 1\nname = "small"\n[roles.worker]\nmanifest = "engine"\n'
    shelf = Shelf({"r.toml": recipe}, clusters={"site": [site]})
    found = link(shelf, Request("r.toml", "site")).workers[0]
    assert found.version == version
    layers = [layer for layer, _, _ in chain(found, "version")]
    assert layers == (["role manifest"] if version == "1.0" else ["role manifest", "cluster"])


def test_versions_come_from_no_place_where_nobody_says_one() -> None:
    assert role(RECIPE, "router", cluster="site").version is None


# (cluster, image of the worker, alias, reference)
IMAGES = [
    ("site", None, "eng", "docker.io/eng:2"),
    ("site", "box", "box", "/images/box.sqsh"),
    ("local", None, "eng", None),
    ("local", "anything", "anything", None),
    ("local", "/opt/env", "/opt/env", "/opt/env"),
]


@pytest.mark.parametrize(("cluster", "image", "alias", "reference"), IMAGES)
def test_images(cluster: str, image: str | None, alias: str, reference: str | None) -> None:
    recipe = "schema = 1\nname = 'x'\n[roles.worker]\nmanifest = 'engine'\n" + (f"image = '{image}'\n" if image else "")
    found = role(recipe, "worker", cluster=cluster)
    assert (found.image, found.reference) == (alias, reference)


def test_images_of_a_cluster_without_containers() -> None:
    local = 'schema = 1\nname = "local"\n[images]\neng = "/opt/eng"\n'
    recipe = "schema = 1\nname = 'x'\n[roles.worker]\nmanifest = 'engine'\n"
    job = link(Shelf({"r.toml": recipe}, clusters={"local": [local]}), Request("r.toml"))
    worker = job.workers[0]
    assert worker.reference == "/opt/eng"
    assert chain(worker, "reference") == [("cluster", "0/local.toml", ("images", "eng"))]


MOUNTS = """schema = 1
name = "x"
[roles.worker]
manifest = "engine"
mounts = [{ source = "/mine", target = "/data" }, { source = "/mine", target = "/other", read_only = true }]
"""


def test_the_clusters_mounts_stay_but_for_targets_the_role_takes() -> None:
    worker = role(MOUNTS, "worker", cluster="site")
    assert worker.mounts == (
        Mount(source="/configs", target="/configs"),
        Mount(source="/mine", target="/data"),
        Mount(source="/mine", target="/other", read_only=True),
    )
    assert chain(worker, "mounts", 0, "target") == [("cluster", "0/site.toml", ("mounts", 1, "target"))]
    assert chain(worker, "mounts", 2) == [("[roles.worker]", "r.toml", ("roles", "worker", "mounts", 1))]
    assert ("mounts", 3) not in worker.origins.chains


def test_mounts_of_the_cluster_alone() -> None:
    worker = role(RECIPE, "decode", cluster="site")
    assert [mount.target for mount in worker.mounts] == ["/data", "/configs"]
    assert chain(worker, "mounts", 0) == [("cluster", "0/site.toml", ("mounts", 0))]


def test_overlaid_clusters_have_the_upper_ones_mounts() -> None:
    upper = 'schema = 1\nname = "site"\nmounts = [{ source = "/x", target = "/x" }]\n'
    shelf = Shelf({"r.toml": RECIPE}, clusters={"site": [SITE, upper]})
    decode = link(shelf, Request("r.toml", "site")).roles[0]
    assert decode.mounts == (Mount(source="/x", target="/x"),)
    assert chain(decode, "mounts", 0) == [("cluster", "1/site.toml", ("mounts", 0))]


# (table of defaults, table of the role, preamble)
PREAMBLES = [
    ("", "", "echo manifest"),
    ("setup = 'echo defaults'", "", "echo defaults"),
    ("setup = 'echo defaults'", "setup = ''", ""),
    ("setup = 'echo defaults'", "setup_file = 'a.sh'", "echo a\r\n"),
    ("setup_file = 'a.sh'", "", "echo a\r\n"),
    ("setup_file = 'a.sh'", "setup = 'echo role'", "echo role"),
    ("setup_file = 'a.sh'", "setup_file = 'b.sh'", "echo b"),
]


@pytest.mark.parametrize(("defaults", "own", "preamble"), PREAMBLES)
def test_preambles(defaults: str, own: str, preamble: str) -> None:
    recipe = f"schema = 1\nname = 'x'\n[defaults]\n{defaults}\n[roles.worker]\nmanifest = 'engine'\n{own}\n"
    shelf = Shelf({"r.toml": recipe}, texts={"a.sh": "echo a\r\n", "b.sh": "echo b"})
    worker = link(shelf, Request("r.toml")).workers[0]
    assert worker.setup == preamble
    written = worker.place("setup")
    assert isinstance(written.path[-1], str)
    assert written.path[-1].startswith("setup")


def test_a_preamble_is_relative_to_the_file_that_names_it() -> None:
    base = "schema = 1\nname = 'x'\n[roles.worker]\nmanifest = 'engine'\nsetup_file = 'a.sh'\n"
    shelf = Shelf(
        {"base.toml": base, "r.toml": "schema = 1\nextends = 'base.toml'\n"},
        texts={"base.toml/a.sh": "base", "r.toml/a.sh": "top", "--set/a.sh": "word"},
    )
    setup = link(shelf, Request("r.toml")).workers[0].setup
    word = link(shelf, Request("r.toml", sets=("roles.worker.setup_file=a.sh",))).workers[0].setup
    assert (setup, word) == ("base", "word")


def test_values_are_carried_to_the_byte() -> None:
    recipe = 'schema = 1\nname = "x"\n[roles.worker]\nmanifest = "engine"\nenv = { A = "\\u0001 \\n{ip} $HOME é" }\n'
    assert role(recipe, "worker").env["A"] == "\u0001 \n{ip} $HOME é"


def test_flags_written_twice_in_a_role_manifest_are_told_of_there() -> None:
    twice = ENGINE.replace("max-len = 1024", "max-len = 1024, max_len = 2")
    recipe = "schema = 1\nname = 'x'\n[roles.worker]\nmanifest = 'engine'\n"
    shelf = Shelf({"r.toml": recipe}, manifests={"engine": twice})
    assert refused(shelf, Request("r.toml")) == [
        "written-twice manifests/engine.toml:8:43 `max_len` and `max-len` are one key"
    ]
