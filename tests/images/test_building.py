"""What built images are called and say of themselves, and the documents of one with a layer more."""

import json

import pytest

from launcher.images import assembly, building, containerfile, deffile, oci
from launcher.images.assembly import Addition
from launcher.images.building import Upon
from launcher.model.definition import FILE, Definition, read
from launcher.model.library import Folder
from launcher.model.linking import Linking
from launcher.text.parse import parse
from tests.model.shelf import Shelf
from tests.testbed import oci as made_by_hand

TEXT = 'schema = 1\ndescription = "a tool"\narch = ["x86_64"]\n[base]\nreference = "r.io/base:1"\n'
TOOL = f'{TEXT}[args]\nV = "2.0"\n[programs]\ntool = "${{V}}"\n'

FILE_TEXT = """# first
ARG BASE=a:1

FROM ${BASE} AS one
ARG V=1
RUN echo a \\
    # between
 && echo b
from scratch
COPY --from=one /a /b
"""


def definition(text: str = TOOL) -> Definition:
    found = read(Linking(Shelf({})), Folder("tool", parse(FILE, text), ((FILE, "0"),)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Step 3/7 : ARG V=1", 5),
        ("Step 4/7 : RUN echo a  && echo b", 6),
        ("[1/2] STEP 3/3: RUN echo a  && echo b", 6),
        ("[2/2] STEP 2/2: COPY --from=one /a /b", 10),
        ("[1/2] STEP 1/3: FROM r.io/base@sha256:0 AS one", 4),
        ("STEP 1/2: FROM scratch", 9),
        ("Step 9/9 : LABEL a=b", None),
        (" ---> Running in 64dc9f97538e", None),
    ],
)
def test_where_a_builder_is(said: str, line: int | None) -> None:
    words = containerfile.step(said)
    found = containerfile.at(FILE_TEXT, words) if words else None
    assert (FILE_TEXT[: found.offset].count("\n") + 1 if found else None) == line


@pytest.mark.parametrize(
    ("text", "more", "astray"),
    [
        (FILE_TEXT, "RUN echo a && echo b", "from scratch"),
        ("FROM ${BASE}\nCOPY --from=a /b /c\n", None, None),
        ("ARG BASE\nFROM --platform=linux/amd64 $BASE AS One\nFROM a:1 AS two\nFROM one", None, None),
        ("FROM a:1 AS one\nFROM one AS two\nFROM two", None, "FROM a:1 AS one"),
        ("FROM ${BASE}\nCOPY a /b", "COPY a /b", None),
        ("FROM ${BASE}-slim\nENV A=1", "ENV A=1", "FROM ${BASE}-slim"),
        ("FROM ${BASE:-a:1}", None, "FROM ${BASE:-a:1}"),
    ],
)
def test_what_more_it_does_and_upon_what(text: str, more: str | None, astray: str | None) -> None:
    found = containerfile.more(text), containerfile.astray(text)
    assert tuple(each and each.words for each in found) == (more, astray)


ONE = "Bootstrap: docker\nFrom: {{ BASE }}\nStage: one\n%post\n  echo From: x\n"


@pytest.mark.parametrize(
    ("text", "stages", "astray"),
    [
        (ONE, 1, None),
        (f"# From: x\n{ONE.replace('From: {{ BASE }}', 'from:{{BASE}}  # so')}", 1, None),
        (ONE.replace("{{ BASE }}", "{{ BASE }}-slim"), 1, "From: {{ BASE }}-slim"),
        (f"{ONE}\nbootstrap: docker\nFrom: a:1\n%files from one\n /a /b\n", 2, "From: a:1"),
        (f"{ONE.replace('{{ BASE }}', 'a:1')}\nBootstrap: docker\n  From: {{{{ BASE }}}}\n", 2, None),
        (f"{ONE}Bootstrap: scratch\n%post\n  true\n", 2, "Bootstrap: scratch"),
        ("", 0, None),
    ],
)
def test_upon_what_a_definition_file_builds(text: str, stages: int, astray: str | None) -> None:
    found = deffile.astray(text)
    assert (deffile.stages(text), found and found.words) == (stages, astray)
    assert found is None or text[found.offset :].startswith(found.words)


def test_arguments_that_are_taken() -> None:
    assert containerfile.arguments(FILE_TEXT) == {"BASE", "V"}
    assert deffile.templates("From: {{ BASE }}\n%post\n echo {{V}} {{ V }} { { C } }") == {"BASE", "V"}
    given = building.given(definition(), {"BASE", "V", "OTHER"}, "b@sha256:0", {"PIP_NO_INDEX": "1"})
    assert given == {"BASE": "b@sha256:0", "V": "2.0"}


@pytest.mark.parametrize(
    ("text", "tags", "found"),
    [
        ("ghcr.io/me", ["1", "main"], ["docker://ghcr.io/me/tool:1", "docker://ghcr.io/me/tool:main"]),
        ("docker://ghcr.io/me", ["1"], ["docker://ghcr.io/me/tool:1"]),
        ("registry:5000", ["1"], ["docker://registry:5000/tool:1"]),
        ("me", ["1"], ["docker://docker.io/me/tool:1"]),
        ("registry:5000/own:2", ["1"], ["docker://registry:5000/own:2"]),
    ],
)
def test_where_it_is_pushed(text: str, tags: list[str], found: list[str]) -> None:
    assert [str(goal) for goal in building.goals(text, "tool", tags)] == found


@pytest.mark.parametrize("text", ["/i/x.sqsh", f"r.io/a@sha256:{'0' * 64}", "Upper/x:1"])
def test_where_nothing_is_pushed(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        building.goals(text, "tool", ["1"])


def test_labels_are_the_same_for_the_same() -> None:
    upon = Upon("r.io/base:1", f"sha256:{'a' * 64}")
    labels = building.labels(definition(), "k" * 64, upon)
    assert building.upon(labels) == upon
    assert labels == {
        "org.opencontainers.image.title": "tool",
        "org.opencontainers.image.description": "a tool",
        "org.opencontainers.image.version": "2.0",
        "org.opencontainers.image.base.name": "r.io/base:1",
        "org.opencontainers.image.base.digest": f"sha256:{'a' * 64}",
        "launcher.image.definition": "tool",
        "launcher.image.key": "k" * 64,
    }
    assert building.tag(definition(), "k" * 64) == "2.0-kkkkkkkkkkkk"
    assert building.tag(definition(TEXT), "k" * 64) == "kkkkkkkkkkkk"
    assert str(upon) == f"r.io/base:1@sha256:{'a' * 64}"


@pytest.mark.parametrize("dialect", ["oci", "docker"])
@pytest.mark.parametrize("history", [(), ("base",)])
def test_a_layer_more(dialect: str, history: tuple[str, ...]) -> None:
    own = made_by_hand.image(
        [[made_by_hand.Entry("a")]],
        config={"Env": ["A=1"], "Labels": {"theirs": "1"}},
        dialect=dialect,  # type: ignore[arg-type]
        history=history,
    )
    base = own.manifest, own.blobs[own.config]
    layer = Addition(f"sha256:{'1' * 64}", 7, f"sha256:{'2' * 64}", ["COPY a", "COPY b"])
    manifest, config = assembly.upon(base, layer, {"ours": "2"})
    assert (manifest, config) == assembly.upon(base, layer, {"ours": "2"})
    found, said, data = oci.read(manifest), oci.config(config), json.loads(config)
    assert isinstance(found, oci.Manifest)
    assert [each.digest for each in found.layers][1:] == [f"sha256:{'1' * 64}"]
    assert found.config.digest == oci.digest(config)
    assert (dict(said.labels), said.env, said.diffs[1]) == ({"theirs": "1", "ours": "2"}, ("A=1",), layer.diff)
    assert [len(data["history"]), data["history"][-1]["created_by"]] == [2, "COPY a; COPY b"]
    assert oci.kind(manifest) == own.kind


def test_an_index_of_two() -> None:
    both = [made_by_hand.image([[made_by_hand.Entry("a")]], arch=arch) for arch in ("amd64", "arm64")]
    body = assembly.index([(both[0].manifest, "x86_64"), (both[1].manifest, "aarch64")])
    found = oci.read(body)
    assert isinstance(found, tuple)
    assert [(each.arch, each.digest) for each in found] == [("x86_64", both[0].digest), ("aarch64", both[1].digest)]
    assert oci.kind(body) == oci.INDEXES[0]
