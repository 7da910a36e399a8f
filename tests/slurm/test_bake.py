"""`launch images bake` on a real Slurm: the stand-in for pyxis, and the real Apptainer; then runs of what was baked."""

import json
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.images import inspect
from launcher.run.script import Child, load
from tests.cli.images.test_bake import TOOL
from tests.slurm import containers
from tests.slurm.containers import AGGREGATE, leavings, over
from tests.slurm.deployment import Deployed, Site
from tests.testbed import apptainer, image
from tests.testbed.bed import Bed, until

SECRET = "hf-very-secret-token"

PREAMBLE = """\
mkdir -p /opt/baked/bin
printf '#!/bin/sh\\necho tool\\n' >/opt/baked/bin/tool
chmod 755 /opt/baked/bin/tool
printf %s "$TOKEN_OF_MINE" | wc -c >/opt/baked/length
date +%s%N >/opt/baked/when
echo "$FLAVOUR" >/opt/baked/flavour
export PATH=/opt/baked/bin:$PATH EXPORTED="a 'b'
line"
"""


def own(preamble: str, flavour: str) -> str:
    """What a role with a preamble says of it."""
    return f"env_from = ['TOKEN_OF_MINE']\nenv = {{ FLAVOUR = '{flavour}' }}\nsetup = '''\n{preamble}'''\n"


def recipe(preamble: str = PREAMBLE) -> str:
    """Two workers of one image on two nodes, and a router with a preamble."""
    head, _, rest = AGGREGATE.partition("setup = ")
    return head + own(preamble, "plain") + rest.partition("\n")[2]


def small(preamble: str = PREAMBLE, flavour: str = "plain") -> str:
    """A service of a small image with a preamble, beside a worker."""
    plain = AGGREGATE.replace(next(line for line in AGGREGATE.splitlines() if line.startswith("setup")), "")
    return f'{plain}\n[roles.tool]\nmanifest = "tool"\n{own(preamble, flavour)}'


@pytest.fixture(params=["pyxis", "apptainer"])
def site(contained: Bed, request: pytest.FixtureRequest) -> Site:
    return stored(contained, request.param)


@pytest.fixture
def pyxis(contained: Bed) -> Site:
    return stored(contained, "pyxis")


def stored(bed: Bed, runtime: str) -> Site:
    """A site with a store."""
    made = containers.site(bed, runtime)
    store = made.folder / "store"
    store.mkdir()
    store.chmod(0o777)
    (made.folder / "manifests").mkdir()
    made.write("manifests/tool.toml", MANIFEST)
    tiny = image.squashfs(image.TINY) if runtime == "pyxis" else apptainer.sif(image.TINY)
    shutil.copy(tiny, bed.shared)
    text = f'{made.file.read_text()}tiny = "{bed.shared / tiny.name}"\n'
    made.file.write_text(
        f'{text}\n[store]\npath = "{store}"\n[store.job]\ncpus = 1\n[setup]\ninline = "export OF_SITE=yes"\n'
    )
    made.env["TOKEN_OF_MINE"] = SECRET
    return made


def kept(site: Site) -> list[str]:
    """Names in the store, but for locks."""
    return sorted(path.name for path in (site.folder / "store").iterdir() if path.suffix != ".lock")


def living(site: Site) -> list[int]:
    """Jobs that have not ended."""
    over = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
    return [job for job, state in site.bed.jobs().items() if state not in over]


def alias(site: Site, name: str = "tiny") -> Any:
    """What an alias means."""
    return tomllib.loads(site.file.read_text())["images"][name]


def child(site: Site, text: str, name: str = "router") -> Child:
    """A step as it is rendered."""
    script = load(site.launch("render", site.recipe(text), "--json").stdout)
    return next(each for each in script.children if each.name == name)


def inside(run: Deployed, words: str) -> list[str]:
    """What a shell says in the router's container."""
    return run.site.launch("exec", run.name, "router", "--", "sh", "-c", words, status=None).stdout.splitlines()


def test_a_recipe_runs_without_the_preamble(site: Site) -> None:
    before = str(alias(site, "smg"))
    done = site.launch("images", "bake", site.recipe(recipe()), "--json")
    (row,) = json.loads(done.stdout)["baked"]
    assert (row["alias"], row["roles"], row["base"], row["state"]) == ("smg", ["router"], before, "baked")
    assert row["exports"] == ["EXPORTED", "PATH"]
    assert SECRET not in done.stdout + done.stderr + site.file.read_text()
    path = Path(row["image"])
    assert kept(site) == sorted([path.name, path.with_suffix(".json").name])
    assert path.stat().st_mode & 0o777 == 0o644
    assert inspect.file(path).header.compressor == "zstd"
    assert alias(site, "smg")["reference"] == str(path)
    assert SECRET.encode() not in whole(path)

    shown = site.launch("check", site.recipe(recipe()))
    assert "bake-stale" not in shown.stdout
    assert "preamble baked into the image, from" in site.launch("plan", site.recipe(recipe())).stdout
    words = " ".join(child(site, recipe()).argv)
    assert str(path) in words
    assert "router.sh" not in words
    assert not {"--container-writable", "--fakeroot"} & set(words.split())
    assert "setup/_cluster.sh" in words

    run = site.up(text=recipe())
    assert run.ask()
    said = inside(run, 'tool; echo "$EXPORTED"; echo "$OF_SITE"; cat /opt/baked/length /opt/baked/flavour')
    assert said[:3] == ["tool", "a 'b'", "line"]
    assert said[4:6] == [str(len(SECRET)), "plain"]
    assert inside(run, "touch /opt/new 2>/dev/null || echo refused") == ["refused"]
    over(run)
    assert leavings(run) == []


def whole(path: Path) -> bytes:
    """Everything in an image, unpacked."""
    folder = path.parent / "unpacked"
    words = ["unsquashfs", "-no-progress", "-quiet", "-dest", str(folder)]
    if path.suffix == ".sif":
        from_ = path.read_bytes().index(b"hsqs")
        words += ["-offset", str(from_)]
    subprocess.run([*words, str(path)], check=True, capture_output=True)
    found = b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    subprocess.run(["rm", "-rf", str(folder)], check=True)
    return found


def test_what_was_baked_is_not_baked_again(pyxis: Site) -> None:
    text = pyxis.recipe(small())
    first = pyxis.begin("images", "bake", text, "--json")
    second = pyxis.begin("images", "bake", text, "--json")
    rows = [json.loads(each.communicate(timeout=120)[0])["baked"][0] for each in (first, second)]
    assert sorted(row["state"] for row in rows) == ["baked", "was baked before"]
    assert rows[0]["image"] == rows[1]["image"]
    # What is locked goes along, so that the next run is not refused.
    pyxis.launch("images", "lock", "tiny")
    made = Path(rows[0]["image"]).stat().st_mtime_ns
    pyxis.launch("images", "bake", text, "--force")
    assert Path(rows[0]["image"]).stat().st_mtime_ns != made
    assert "all as locked" in pyxis.launch("images", "verify", "tiny").stderr
    assert "image-moved" not in pyxis.launch("check", "--probe", text).stdout


def test_another_preamble_runs_again_in_what_was_baked(pyxis: Site) -> None:
    base = str(alias(pyxis))
    pyxis.launch("images", "bake", pyxis.recipe(small()))
    other = ""
    for other in (small(PREAMBLE + "true\n"), small(flavour="sweet")):
        done = pyxis.launch("check", pyxis.recipe(other))
        assert "warning[bake-stale]: image alias `tiny` was baked with another preamble" in done.stdout
        words = child(pyxis, other, "tool").argv
        assert {f"--container-image={base}", "--container-writable", "/launch/setup/tool.sh"} <= set(words)
    again = json.loads(pyxis.launch("images", "bake", pyxis.recipe(other), "--json").stdout)["baked"][0]
    assert again["base"] == base
    assert "bake-stale" not in pyxis.launch("check", pyxis.recipe(other)).stdout
    # The image itself has what was baked: a recipe that says nothing any more of a preamble starts from it.
    plain = f"{small().partition('env_from')[0]}setup = ''\n"
    step = child(pyxis, plain, "tool")
    assert f"--container-image={again['image']}" in step.argv
    assert step.env["LAUNCH__GIVEN_EXPORTED"] == "a 'b'\nline"


FAULTS = {
    "fails": ("echo oh no >&2\nexit 3\n", 4, "the preamble of `tool` ended with exit code 3: "),
    "ends early": ("exit 0\n", 4, "the preamble of `tool` ended before its end, without an error"),
    "exports a secret": ("export MINE=x$TOKEN_OF_MINE\n", 4, "exports `MINE` with a value of `env_from` in it"),
    "is not saved": (": >/launch/after\nchmod 555 /launch\n", 4, "pyxis did not save the root: "),
    "varies": ("export MINE=$LAUNCH_IP\n", 3, "names `LAUNCH_IP`, which has another value in each run"),
    "tells a secret": ("echo $TOKEN_OF_MINE >&2\nexit 1\n", 4, "ended with exit code 1: ***"),
    "unsets": ("unset FLAVOUR\n", 4, "unsets `FLAVOUR`, which an image cannot"),
}


@pytest.mark.parametrize(("preamble", "status", "said"), FAULTS.values(), ids=FAULTS)
def test_nothing_of_a_failure_is_kept(pyxis: Site, preamble: str, status: int, said: str) -> None:
    before = pyxis.file.read_text()
    done = pyxis.launch("images", "bake", pyxis.recipe(small(preamble)), status=status)
    assert said in done.stderr
    assert SECRET not in done.stderr
    assert (kept(pyxis), pyxis.file.read_text()) == ([], before)
    until(lambda: not living(pyxis) or None)


def test_slurm_refuses(pyxis: Site) -> None:
    pyxis.file.write_text(pyxis.file.read_text().replace("cpus = 1\n", 'cpus = 1\npartition = "nope"\n'))
    done = pyxis.launch("images", "bake", pyxis.recipe(small()), status=5)
    assert "error[slurm-refused]" in done.stderr
    assert kept(pyxis) == []


def mount(site: Site) -> str:
    """A folder of the test in the container."""
    return f"mounts = [{{ source = '{site.folder}/manifests', target = '/here' }}]\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_bake_leaves_nothing(site: Site, number: signal.Signals) -> None:
    text = site.recipe(small("until [ -e /here/go ]; do sleep 0.1; done\n") + mount(site))
    began = site.begin("images", "bake", text, "--timeout", "7m")
    until(lambda: next((site.folder / "store").glob(".*.bake/before"), None))
    (job,) = living(site)
    assert site.bed.show(job)["TimeLimit"] == "00:07:00"
    began.send_signal(number)
    began.communicate(timeout=100)
    if number == signal.SIGKILL:
        # Whoever comes next ends what was left, and begins anew.
        assert [path.suffix for path in (site.folder / "store").glob(".*.bake")] == [".bake"]
        site.write("manifests/go", "")
        site.launch("images", "bake", text)
        assert [Path(name).suffix for name in kept(site)] == [".json", Path(alias(site)["reference"]).suffix]
        until(lambda: not living(site) or None)
    else:
        assert began.returncode == 128 + number, began.stderr
        assert kept(site) == []
        until(lambda: not living(site) or None)


def test_a_role_manifest_alone(pyxis: Site) -> None:
    done = pyxis.launch("images", "bake", "tool", "--dry-run")
    assert "would be baked" in done.stdout
    assert kept(pyxis) == []
    done = pyxis.launch("images", "bake", "tool", "--json")
    assert json.loads(done.stdout)["baked"][0]["roles"] == ["baked"]
    pyxis.launch("images", "bake", "smg", status=2)
    pyxis.launch("images", "bake", "nothing-of-the-kind", status=2)


MANIFEST = TOOL.replace('image = "tiny"\n', 'image = "tiny"\nsetup = "echo baked >/tool"\n')
