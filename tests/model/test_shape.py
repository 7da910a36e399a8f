"""What is said of a table that has not the shape its model wants."""

from typing import Any

import pytest

from launcher.model.link import Request, link
from launcher.text.diagnostic import Refused
from tests.model.shelf import ENGINE, RECIPE, SITE, Shelf, refused, written

ROLE = "must be at most 31 characters a-z 0-9 _ -, a letter first, no `-` and number last"

# (what is wrong, recipe below its first two lines, findings, help of the first)
BAD: list[tuple[str, str, list[str], str | None]] = [
    (
        "misspelt table",
        '[raedy]\ntimeout = "1m"',
        ["unknown-key r.toml:3:2 unknown key `raedy`"],
        "did you mean `ready`?",
    ),
    (
        "misspelt key",
        "[roles.worker]\nmanifest = 'engine'\nreplics = 2",
        ["unknown-key r.toml:5:1 unknown key `replics` in `[roles.worker]`"],
        "did you mean `replicas`?",
    ),
    (
        "later feature",
        "[sweep]\nallocation = 'one'",
        ["unknown-key r.toml:3:2 unknown key `sweep`"],
        (
            "the file takes `name`, `allow`, `model`, `defaults`, `roles`, `router`, `benchmark`, `ready`, `ports`, "
            "`slurm`, `schema`, `extends`, `variants` and `on`"
        ),
    ),
    (
        "later key of a role",
        '[roles.worker]\nmanifest = "engine"\nstage = true',
        ["unknown-key r.toml:5:1 unknown key `stage` in `[roles.worker]`"],
        (
            "`[roles.worker]` takes `image`, `version`, `setup`, `setup_file`, `env`, `env_from`, `flags`, `mounts`, "
            "`on`, `manifest`, `gpus`, `replicas`, `kv`, `config` and `kv_events`"
        ),
    ),
    (
        "key of an item of a list",
        "defaults.mounts = [{ source = '/a', target = '/b', mode = 'ro' }]",
        ["unknown-key r.toml:3:52 unknown key `mode` in `defaults.mounts[0]`"],
        "`defaults.mounts[0]` takes `source`, `target` and `read_only`",
    ),
    (
        "missing key of an item",
        "defaults.mounts = [{ source = '/a' }]",
        ["missing-key r.toml:3:20 `target` is missing in `defaults.mounts[0]`"],
        "add `target = …`",
    ),
    (
        "quoted number, with a zero in front",
        "[roles.worker]\nmanifest = 'engine'\ngpus = '04'",
        ["wrong-type r.toml:5:8 `gpus` must be an integer, not a string"],
        "write `gpus = 4`",
    ),
    (
        "float",
        "ports.shift = 1.0",
        ["wrong-type r.toml:3:15 `shift` must be an integer, not a float"],
        "write `shift = 1`",
    ),
    (
        "number in env",
        "defaults.env = { A = 1, B = true, C = 2024-01-01 }",
        [
            "wrong-type r.toml:3:22 `A` must be a string, not an integer",
            "wrong-type r.toml:3:29 `B` must be a string, not a boolean",
            "wrong-type r.toml:3:39 `C` must be a string, not a date or time",
        ],
        'quote it: `A = "1"`',
    ),
    (
        "boolean as a number",
        "ports.public = true",
        ["wrong-type r.toml:3:16 `public` must be an integer, not a boolean"],
        "write `public = 1`",
    ),
    (
        "string for a list",
        "allow = 'idle-gpus'",
        ["wrong-type r.toml:3:9 `allow` must be an array, not a string"],
        'write `allow = ["idle-gpus"]`',
    ),
    (
        "string for a boolean",
        "defaults.mounts = [{ source = '/a', target = '/b', read_only = 'true' }]",
        ["wrong-type r.toml:3:64 `read_only` must be `true` or `false`, not a string"],
        "write `read_only = true`",
    ),
    (
        "mount as a word",
        "defaults.mounts = ['/a:/b']",
        ["wrong-type r.toml:3:20 `mounts[0]` must be a table, not a string"],
        'write `{ source = "/on/the/host", target = "/in/the/container" }`',
    ),
    (
        "scalar for a table",
        "ready = '45m'",
        ["wrong-type r.toml:3:9 `ready` must be a table, not a string"],
        "write `ready = { … }`",
    ),
    (
        "list for a table",
        "[[roles]]\nmanifest = 'engine'",
        ["wrong-type r.toml:3:1 `roles` must be a table, not an array"],
        "write `roles = { … }`",
    ),
    (
        "out of range",
        "ports = { public = 70000, shift = -1 }",
        [
            "wrong-value r.toml:3:20 `public` must be at most 65535, not 70000",
            "wrong-value r.toml:3:35 `shift` must be at least 0, not -1",
        ],
        "use 1 to 65535",
    ),
    (
        "no duration",
        "ready.timeout = '45 minutes'",
        ["wrong-value r.toml:3:17 `timeout` must be a duration, not `45 minutes`"],
        "write `90s`, `45m`, `1h30m`, `2d`, `01:30:00`, `2-00:00:00` or seconds",
    ),
    (
        "duration of another type",
        "ready.timeout = 1.5",
        ["wrong-value r.toml:3:17 `timeout` must be a duration, not a float"],
        "write `90s`, `45m`, `1h30m`, `2d`, `01:30:00`, `2-00:00:00` or seconds",
    ),
    (
        "date as a flag, deep",
        "defaults.flags = { a = { b = [1, 2024-01-01] } }",
        ["wrong-value r.toml:3:24 `a` must not be a date or time"],
        'no flag takes one; quote it: `"2024-01-01"`',
    ),
    ("empty", "model.path = ''", ["wrong-value r.toml:3:14 `path` must not be empty"], None),
    (
        "role name",
        "[roles.Cache]\nmanifest = 'box'\nimage = 'box'",
        [f"wrong-value r.toml:3:8 `Cache` {ROLE}"],
        None,
    ),
    (
        "role name like a step's",
        "[roles.cache-0]\nmanifest = 'box'\nimage = 'box'",
        [f"wrong-value r.toml:3:8 `cache-0` {ROLE}"],
        None,
    ),
    (
        "reserved role",
        "[roles.router]\nmanifest = 'gate'",
        ["wrong-value r.toml:3:8 `router` is reserved: the router has a table of its own"],
        "write `[router]`, and `kind` for `manifest`",
    ),
    (
        "time limit in words",
        "[slurm]\ntime = '4hours'",
        ["wrong-value r.toml:4:8 `time` must be a time limit, not `4hours`"],
        "did you mean `4h`?",
    ),
    (
        "time limit as Slurm alone reads it",
        "[slurm]\ntime = '90'",
        ["wrong-value r.toml:4:8 `time` must be a time limit, not `90`"],
        "did you mean `90m`?",
    ),
    (
        "time limit as a number",
        "[slurm]\ntime = 90",
        ["wrong-value r.toml:4:8 `time` must be a time limit, not an integer"],
        'write `"90m"` for minutes',
    ),
    (
        "segment",
        "[slurm]\nsegment = 'rack'",
        ['wrong-value r.toml:4:11 `segment` must be a number of nodes, `"role"` or `"job"`, not `rack`'],
        None,
    ),
    (
        "variants and clusters not chosen",
        "variants.low.roles.worker.gpu = 1\non.other.ready.timeout = ''\nvariants.bad.schema = 1",
        [
            "unknown-key r.toml:3:27 unknown key `gpu` in `[variants.low.roles.worker]`",
            "unknown-key r.toml:5:14 unknown key `schema` in `[variants.bad]`",
            "wrong-value r.toml:4:26 `timeout` must be a duration, not ``",
        ],
        "did you mean `gpus`?",
    ),
]


@pytest.mark.parametrize(("recipe", "findings", "help_"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_refusals(recipe: str, findings: list[str], help_: str | None) -> None:
    with pytest.raises(Refused) as error:
        link(Shelf({"r.toml": f'schema = 1\nname = "small"\n{recipe}\n'}), Request("r.toml", "site"))
    assert [written(finding) for finding in error.value.diagnostics] == findings
    assert error.value.diagnostics[0].help == help_


# (what is wrong, files that are changed, findings)
OTHERS = [
    (
        "cluster: misspelt key",
        {"clusters": {"site": [SITE.replace("runtime", "runtme")]}},
        ["unknown-key 0/site.toml:4:1 unknown key `runtme`"],
    ),
    (
        "cluster: wrong choice",
        {"clusters": {"site": [SITE.replace("pyxis", "pyxs")]}},
        ["wrong-value 0/site.toml:4:11 `runtime` must be `none`, `pyxis` or `apptainer`, not `pyxs`"],
    ),
    (
        "cluster: time limit in words",
        {"clusters": {"site": [SITE + "[slurm]\ntime = '4hours'"]}},
        ["wrong-value 0/site.toml:20:8 `time` must be a time limit, not `4hours`"],
    ),
    (
        "cluster: size of memory",
        {"clusters": {"site": [SITE + "[node]\nmemory = '800 GB'"]}},
        ["wrong-value 0/site.toml:20:10 `memory` must be a size of memory, not `800 GB`"],
    ),
    (
        "cluster: image of a wrong type",
        {"clusters": {"site": [SITE.replace('"docker.io/gate:1"', "1")]}},
        ["wrong-value 0/site.toml:9:8 `gate` must be a reference or a table, not an integer"],
    ),
    (
        "cluster: image without reference",
        {"clusters": {"site": [SITE.replace('reference = "docker.io/eng:2", ', "")]}},
        ["wrong-value 0/site.toml:8:7 `eng` must have a `reference`"],
    ),
    (
        "cluster: another name inside",
        {"clusters": {"site": [SITE, SITE.replace('"site"', '"old"', 1)]}},
        ["name-mismatch 1/site.toml:3:8 the cluster `site` calls itself `old` here"],
    ),
    (
        "cluster: an overlay without schema",
        {"clusters": {"site": [SITE, 'name = "site"']}},
        ["missing-key 1/site.toml:1:1 `schema` is missing"],
    ),
    (
        "manifest: misspelt key",
        {"manifests": {"engine": ENGINE + "[stopp]"}},
        ["unknown-key manifests/engine.toml:14:2 unknown key `stopp`"],
    ),
    (
        "manifest: wrong choice",
        {"manifests": {"engine": ENGINE.replace('kind = "engine"', 'kind = "enginee"')}},
        [
            (
                "wrong-value manifests/engine.toml:5:8 `kind` must be `engine`, `router`, `service` or `benchmark`, "
                "not `enginee`"
            )
        ],
    ),
    (
        "manifest: symbolic count",
        {"manifests": {"engine": ENGINE + "[[gates]]\nkind = 'http'\nurl = '/'\nexpect = [{ count = 'wokers' }]"}},
        [
            (
                "wrong-value manifests/engine.toml:17:21 `count` must be a number from 0, or one of `workers`, "
                "`prefill`, `decode`, `endpoints`, `ranks`, not `wokers`"
            )
        ],
    ),
    (
        "manifest: another name inside",
        {"manifests": {"engine": ENGINE.replace('"engine"', '"motor"', 1)}},
        ["name-mismatch manifests/engine.toml:3:8 the role manifest `engine` calls itself `motor`"],
    ),
    (
        "manifest: metrics on a port that is not there",
        {"manifests": {"engine": ENGINE + "[ports.http]\nbase = 1\n[metrics]\nport = 'htpp'"}},
        ["unknown-port manifests/engine.toml:17:8 `engine` has no port `htpp`"],
    ),
    (
        "manifest: a schema that is no integer",
        {"manifests": {"engine": ENGINE.replace("schema = 1", "schema = 1.0")}},
        ["wrong-value manifests/engine.toml:2:10 `schema` must be `1`, not a float"],
    ),
    (
        "manifest: a schema of another time",
        {"manifests": {"engine": ENGINE.replace("schema = 1", "schema = 2")}},
        ["wrong-value manifests/engine.toml:2:10 `schema` must be `1`, not `2`"],
    ),
]


@pytest.mark.parametrize(("files", "findings"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_refusals_of_other_files(files: dict[str, Any], findings: list[str]) -> None:
    assert refused(Shelf({"r.toml": RECIPE}, **files), Request("r.toml", "site")) == findings
