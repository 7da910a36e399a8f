"""Named and unnamed roots: one unpack for many steps, who sees what, what stays and what goes."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.testbed.image import TINY
from tests.testbed.site import Site


@pytest.fixture(scope="module")
def image(pyxis: Site) -> str:
    return f"--container-image={pyxis.image(TINY)}"


@pytest.fixture
def name(pyxis: Site, image: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A root of this name is there, unpacked by a step that has ended."""
    text = re.sub(r"\W", "-", request.node.name)[:60]
    done = pyxis.step(image, f"--container-name={text}:create", "--container-readonly", "true")
    assert done.returncode == 0, done.stderr
    yield text
    if f"pyxis_{text}" in pyxis.roots():
        pyxis.remove(text)


def test_a_named_root_stays_and_an_unnamed_one_goes(pyxis: Site, image: str, name: str) -> None:
    assert pyxis.step(image, "true").returncode == 0
    assert pyxis.roots() == {f"pyxis_{name}": []}


def test_it_is_on_its_node_alone(pyxis: Site, name: str) -> None:
    assert pyxis.roots(node=1) == {}


@pytest.mark.parametrize("command", ["exit 3", "kill -KILL $$"])
def test_an_unnamed_root_goes_however_the_task_ends(pyxis: Site, image: str, command: str) -> None:
    assert pyxis.step(image, "sh", "-c", command).returncode != 0
    assert pyxis.roots() == {}


def test_joined_without_image_each_with_its_own_mounts_env_and_workdir(pyxis: Site, name: str) -> None:
    (pyxis.shared / "join-a").mkdir(exist_ok=True)
    join = [f"--container-name={name}:no_exec", f"--container-mounts={pyxis.shared}/join-a:/one"]
    first = pyxis.step(*join, "--container-env=COMMON", "sh", "-c", "echo $COMMON; ls -d /one", env={"COMMON": "mine"})
    assert first.stdout == "mine\n/one\n", first.stderr
    second = pyxis.step(f"--container-name={name}:no_exec", "--container-workdir=/usr", "sh", "-c", "pwd; echo $COMMON")
    assert second.stdout == "/usr\nfrom-image\n", second.stderr


def test_many_join_at_once(pyxis: Site, name: str) -> None:
    with ExitStack() as stack:
        words = [f"--container-name={name}:no_exec", "sh", "-c", "echo joined"]
        steps = [stack.enter_context(pyxis.background(*words)) for _ in range(4)]
        assert [step.communicate(timeout=60)[0] for step in steps] == ["joined\n"] * 4


def test_an_image_beside_an_existing_name_is_ignored(pyxis: Site, name: str) -> None:
    done = pyxis.step("--container-image=/nope.sqsh", f"--container-name={name}", "sh", "-c", "echo $COMMON")
    assert (done.returncode, done.stdout) == (0, "from-image\n"), done.stderr


def test_create_wants_a_new_name(pyxis: Site, image: str, name: str) -> None:
    done = pyxis.step(image, f"--container-name={name}:create", "true")
    said = "“create” flag was passed to --container-name but the container already exists"
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr


def test_exec_wants_it_running(pyxis: Site, name: str) -> None:
    done = pyxis.step(f"--container-name={name}:exec", "true")
    said = '"exec" flag was passed to --container-name but the container is not running'
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr


def test_auto_and_exec_join_a_running_container_and_lose_their_mounts(pyxis: Site, name: str) -> None:
    (pyxis.shared / "held").mkdir(exist_ok=True)
    (pyxis.shared / "held").chmod(0o777)
    hold = [f"--container-name={name}:no_exec", f"--container-mounts={pyxis.shared}/held:/held"]
    with pyxis.background(*hold, "sh", "-c", "touch /held/yes /tmp/mine; exec sleep 60"):
        pyxis.appears(pyxis.shared / "held/yes")
        assert [len(pids) for pids in pyxis.roots().values()] == [1]
        line = ("sh", "-c", "ls /tmp; ls -d /held/* /lost 2>/dev/null; true")
        for flag in ("", ":auto", ":exec"):
            done = pyxis.step(f"--container-name={name}{flag}", f"--container-mounts={pyxis.shared}:/lost", *line)
            assert done.stdout == "mine\n/held/yes\n", done.stderr
            assert "ignoring --container-mounts when attaching to a running container" in done.stderr
        apart = pyxis.step(f"--container-name={name}:no_exec", f"--container-mounts={pyxis.shared}:/lost", *line)
        assert apart.stdout == "/lost\n", apart.stderr


def test_what_a_writable_join_writes_all_see(pyxis: Site, name: str) -> None:
    join = f"--container-name={name}:no_exec"
    assert pyxis.step(join, "--container-writable", "touch", "/written").returncode == 0
    assert pyxis.step(join, "--container-readonly", "ls", "/written").stdout == "/written\n"
    remapped = pyxis.step(join, "--container-remap-root", "sh", "-c", "id -u; ls /written")
    assert remapped.stdout == "0\n/written\n"


def test_a_root_can_be_removed_under_a_running_process(pyxis: Site, name: str) -> None:
    started = pyxis.shared / "removed/yes"
    started.parent.mkdir(exist_ok=True)
    started.parent.chmod(0o777)
    mount = f"--container-mounts={started.parent}:/started"
    loop = "touch /started/yes; while sleep 0.1; do :; done; echo gone"
    with pyxis.background(f"--container-name={name}:no_exec", mount, "sh", "-c", loop) as step:
        pyxis.appears(started)
        pyxis.remove(name)
        assert step.communicate(timeout=60)[0] == "gone\n"
    assert pyxis.roots() == {}


def test_a_name_with_a_space_poisons_all_names(pyxis: Site, image: str, name: str) -> None:
    pyxis.step(image, "--container-name=a b", "true")
    assert pyxis.step(f"--container-name={name}:no_exec", "true").returncode == 1
    pyxis.remove("a b")
    assert pyxis.step(f"--container-name={name}:no_exec", "true").returncode == 0


@pytest.mark.parametrize("bad", ["a/b", "a:b"])
def test_a_name_has_no_slash_and_no_colon(pyxis: Site, image: str, bad: str) -> None:
    assert pyxis.step(image, f"--container-name={bad}", "true").returncode == 255


def test_of_those_who_race_to_create_a_name_one_wins(pyxis: Site, image: str) -> None:
    with ExitStack() as stack:
        words = [image, "--container-name=race:create", "true"]
        steps = [stack.enter_context(pyxis.background(*words)) for _ in range(4)]
        said = [(step.communicate(timeout=60)[1], step.returncode) for step in steps]
    pyxis.remove("race")
    assert sorted(code for _, code in said) == [0, 1, 1, 1]
    texts = ("File already exists", "File exists", "the container already exists")
    assert [text for text, code in said if code and not any(known in text for known in texts)] == []


def test_tasks_of_a_step_share_one_root_on_a_node(pyxis: Site, image: str) -> None:
    words = pyxis.words(image, "sh", "-c", "readlink /proc/self/ns/mnt")
    words[words.index("--ntasks=1")] = "--ntasks=3"
    done = pyxis.run(words)
    assert (len(done.stdout.splitlines()), len(set(done.stdout.splitlines()))) == (3, 1), done.stderr


def test_term_reaches_the_process_and_the_root_goes(pyxis: Site, image: str) -> None:
    ready = pyxis.shared / "term/yes"
    ready.parent.mkdir(exist_ok=True)
    ready.parent.chmod(0o777)
    line = "trap 'echo trapped; exit 5' TERM; touch /ready/yes; while :; do sleep 0.05; done"
    words = (f"--container-mounts={ready.parent}:/ready", "--job-name=trap", "sh", "-c", line)
    with pyxis.background(image, *words) as step:
        pyxis.appears(ready)
        listed = pyxis.run(["squeue", "--noheader", "--steps", f"--jobs={pyxis.job}", "--format=%i %j"]).stdout
        ids = {words[1]: words[0] for words in map(str.split, listed.splitlines())}
        pyxis.run(["scancel", "--signal=TERM", ids["trap"]])
        assert (step.communicate(timeout=60)[0], step.returncode) == ("trapped\n", 5)
    assert pyxis.roots() == {}


@pytest.mark.parametrize(("command", "code"), [("touch /added", 0), ("touch /added; exit 3", 3)])
def test_save_keeps_what_was_written_and_not_what_was_mounted(pyxis: Site, image: str, command: str, code: int) -> None:
    target = pyxis.shared / "saved.sqsh"
    options = ["--container-writable", f"--container-save={target}", f"--container-mounts={pyxis.shared}:/mounted"]
    done = pyxis.step(image, *options, "sh", "-c", command)
    assert (done.returncode, "pyxis: exported container" in done.stderr) == (code, True), done.stderr
    again = pyxis.step(f"--container-image={target}", "sh", "-c", "ls -d /added; ls -A /mounted; usual")
    assert again.stdout == "/added\nusual\n"


def test_a_failure_to_save_leaves_the_code_alone(pyxis: Site, image: str) -> None:
    done = pyxis.step(image, "--container-save=/nope/x.sqsh", "true")
    assert (done.returncode, "pyxis: failed to export container" in done.stderr) == (0, True), done.stderr


def test_a_variable_puts_even_the_batch_script_into_a_container(pyxis: Site) -> None:
    out = pyxis.shared / "batch.out"
    script = pyxis.shared / "batch.sh"
    script.write_text("#!/bin/sh\necho $IMAGE_ONLY\n")
    words = ["sbatch", "--parsable", "--wait", "--nodes=1", "--oversubscribe", f"--output={out}", str(script)]
    done = pyxis.run(words, {"PYXIS_CONTAINER_IMAGE": pyxis.image(TINY)})
    assert (done.returncode, Path(out).read_text()) == (0, "yes\n"), done.stderr
