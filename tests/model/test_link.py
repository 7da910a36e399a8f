"""Linking: what is refused, where and in which words."""

import pytest

from launcher.model.findings import EXPLANATIONS
from launcher.model.link import Request, link
from launcher.text.diagnostic import Refused
from tests.model.shelf import RECIPE, Shelf, refused, written

# (what is wrong, recipe below its first two lines, findings, help of the first)
BAD: list[tuple[str, str, list[str], str | None]] = [
    (
        "another table's key",
        "router.manifest = 'gate'",
        [
            "unknown-key r.toml:3:8 unknown key `manifest` in `[router]`",
            "missing-manifest r.toml:3:1 `[router]` names no router",
        ],
        "did you mean `kind`?",
    ),
    (
        "one flag spelt twice",
        "[roles.worker]\nmanifest = 'engine'\nflags = { a-b = 1, a_b = 2 }",
        ["written-twice r.toml:5:20 `a_b` and `a-b` are one key"],
        "keep one of them",
    ),
    (
        "one flag by two names",
        "[roles.worker]\nmanifest = 'engine'\nflags = { tp = 1, tensor-size = 2 }",
        ["written-twice r.toml:5:19 `tensor-size` and `tp` are one key"],
        "keep one of them",
    ),
    (
        "a flag and its negative form",
        "[roles.worker]\nmanifest = 'engine'\nflags = { cache = true, no-cache = true }",
        ["written-twice r.toml:5:25 `no-cache` and `cache` are one key"],
        "keep one of them",
    ),
    (
        "two preambles",
        "[roles.worker]\nmanifest = 'engine'\nsetup = 'a'\nsetup_file = 'setup.sh'",
        ["written-twice r.toml:6:1 `setup_file` and `setup` are one key"],
        "keep one of them",
    ),
    (
        "preamble that is not there",
        "[roles.worker]\nmanifest = 'engine'\nsetup_file = 'nope.sh'",
        ["setup-unreadable r.toml:5:14 the preamble `nope.sh` does not exist"],
        "the path is relative to the file that names it",
    ),
    (
        "preamble that is not UTF-8",
        "[roles.worker]\nmanifest = 'engine'\nsetup_file = 'latin.sh'",
        ["setup-unreadable r.toml:5:14 the preamble `latin.sh` is not UTF-8"],
        "the path is relative to the file that names it",
    ),
    (
        "preamble with a reserved character",
        "[roles.worker]\nmanifest = 'engine'\nsetup_file = 'marked.sh'",
        [
            (
                "setup-unreadable r.toml:5:14 the preamble `marked.sh` has a character that cannot be used (NUL, "
                "U+FDD0 or U+FDD1)"
            )
        ],
        "remove it",
    ),
    (
        "no role manifest",
        "[roles.worker]\nreplicas = 2",
        ["missing-manifest r.toml:3:8 role `worker` has no role manifest"],
        'add `manifest = "…"`: one of `box`, `direct`, `engine`, `gate`',
    ),
    (
        "misspelt worker role",
        "defaults.manifest = 'engine'\n[roles.prefil]",
        ["missing-manifest r.toml:4:8 role `prefil` has no role manifest"],
        "did you mean `[roles.prefill]`?",
    ),
    (
        "engine in a role that is no worker",
        "[roles.wroker]\nmanifest = 'engine'",
        ["manifest-kind r.toml:4:12 role `wroker` takes a service, and `engine` is an engine"],
        "did you mean `[roles.worker]`?",
    ),
    (
        "unknown role manifest",
        "defaults.manifest = 'engin'\n[roles.prefill]\n[roles.decode]",
        [
            "unknown-manifest r.toml:3:21 no role manifest is named `engin`",
        ],
        "did you mean `engine`?",
    ),
    (
        "router in a role",
        "[roles.worker]\nmanifest = 'gate'",
        ["manifest-kind r.toml:4:12 role `worker` takes an engine, and `gate` is a router"],
        'write `kind = "gate"` in `[router]`',
    ),
    (
        "service as a worker",
        "[roles.worker]\nmanifest = 'box'\nimage = 'box'",
        ["manifest-kind r.toml:4:12 role `worker` takes an engine, and `box` is a service"],
        "name a role manifest of kind `engine`",
    ),
    (
        "engine as a router",
        "router.kind = 'engine'",
        ["manifest-kind r.toml:3:15 `[router]` takes a router, and `engine` is an engine"],
        "engines run in `[roles.worker]`, `[roles.prefill]`, `[roles.decode]`",
    ),
    (
        "unknown router",
        "router.kind = 'gaet'",
        ["unknown-router r.toml:3:15 no router is named `gaet`"],
        "did you mean `gate`?",
    ),
    (
        "router without kind",
        "router.flags = {}",
        ["missing-manifest r.toml:3:1 `[router]` names no router"],
        'add `kind = "…"`: one of `box`, `direct`, `engine`, `gate`',
    ),
    (
        "unknown model",
        "model.path = 'tinny'",
        ["unknown-model r.toml:3:14 cluster `site` has no model alias `tinny`"],
        "did you mean `tiny`? (a folder is named by its whole path: `/path/to/it`)",
    ),
    (
        "unknown image",
        "[roles.worker]\nmanifest = 'engine'\nimage = 'engg'",
        ["unknown-image r.toml:5:9 cluster `site` has no image alias `engg`"],
        "did you mean `eng`?",
    ),
    (
        "no image",
        "[roles.cache]\nmanifest = 'box'",
        ["missing-image r.toml:3:8 role `cache` has no image, and `site` starts everything in containers"],
        'add `image = "…"`; image aliases: `box`, `eng`, `gate`',
    ),
    (
        "all at once",
        "[roles.worker]\nmanifest = 'engin'\ngpus = '1'\n[router]\nkind = 'gaet'\nimage = 1",
        [
            "wrong-type r.toml:5:8 `gpus` must be an integer, not a string",
            "wrong-type r.toml:8:9 `image` must be a string, not an integer",
            "unknown-manifest r.toml:4:12 no role manifest is named `engin`",
            "unknown-router r.toml:7:8 no router is named `gaet`",
        ],
        "write `gpus = 1`",
    ),
]

TEXTS: dict[str, str | bytes] = {"setup.sh": "echo", "latin.sh": b"\xe9", "marked.sh": "echo \ufdd0run\ufdd1"}


@pytest.mark.parametrize(("recipe", "findings", "help_"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_refusals(recipe: str, findings: list[str], help_: str | None) -> None:
    with pytest.raises(Refused) as error:
        link(Shelf({"r.toml": f'schema = 1\nname = "small"\n{recipe}\n'}, texts=TEXTS), Request("r.toml", "site"))
    assert [written(finding) for finding in error.value.diagnostics] == findings
    assert error.value.diagnostics[0].help == help_
    assert {finding.exit for finding in error.value.diagnostics} == {3}
    assert {finding.code for finding in error.value.diagnostics} <= set(EXPLANATIONS)


COMMAND = [
    (Request("r.toml", "siet"), "unknown-cluster no cluster is named `siet`", "did you mean `site`?", 2),
    (Request("none.toml"), "file-absent `none.toml` does not exist", None, 2),
    (Request("r.toml:lwo"), "unknown-variant r.toml:7:2 `r.toml` has no variant `lwo`", "did you mean `low`?", 2),
    (
        Request("r.toml", unsets=("roles.worker.gpu",)),
        "nothing-to-unset --unset:1:1 `roles.worker.gpu` is not set",
        "did you mean `roles.worker.gpus`?",
        3,
    ),
    (
        Request("r.toml", sets=("roles.worker.gpus=many",)),
        "wrong-type --set:1:19 `gpus` must be an integer, not a string",
        "write `gpus = 1`",
        3,
    ),
    (
        Request("r.toml", sets=("redy.timeout=1",)),
        "unknown-key --set:1:1 unknown key `redy`",
        "did you mean `ready`?",
        3,
    ),
    (
        Request("r.toml", sets=("ready",)),
        "toml-syntax --set:1:6 expected `=` and a value after the key",
        "write `--set KEY=VALUE`; the parts of KEY are joined by dots, and quoted if not of A-Z a-z 0-9 _ -",
        3,
    ),
    (
        Request("r.toml", sets=("extends='other.toml'",)),
        "unknown-key --set:1:1 unknown key `extends`",
        (
            "the file takes `name`, `allow`, `model`, `defaults`, `roles`, `router`, `benchmark`, `ready`, `ports`, "
            "`slurm` and `schema`"
        ),
        3,
    ),
]


@pytest.mark.parametrize(("asked", "finding", "help_", "code"), COMMAND, ids=[row[1] for row in COMMAND])
def test_refusals_of_the_command_line(asked: Request, finding: str, help_: str | None, code: int) -> None:
    with pytest.raises(Refused) as error:
        link(Shelf({"r.toml": f"{RECIPE}gpus = 1\n[variants.low]\nroles.worker.gpus = 2\n"}), asked)
    (found,) = error.value.diagnostics
    assert (written(found), found.help, found.exit) == (finding, help_, code)


def test_a_fault_of_a_file_is_told_once_with_what_was_merged_from_it() -> None:
    recipe = "schema = 1\n[roles.worker]\ngpus = '1'\n"
    assert refused(Shelf({"r.toml": recipe}), Request("r.toml")) == [
        "wrong-type r.toml:3:8 `gpus` must be an integer, not a string",
        "missing-key r.toml:1:1 `name` is missing",
        "missing-manifest r.toml:2:8 role `worker` has no role manifest",
    ]


def test_every_page_has_a_summary_and_more() -> None:
    for code, page in EXPLANATIONS.items():
        first, blank, *more = page.split("\n")
        assert first and not first.endswith(".") and blank == "" and more, code
