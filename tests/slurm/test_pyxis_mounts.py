"""The mounts of pyxis and what a container sees without any."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.testbed.image import ENTRY, TINY
from tests.testbed.site import Site


@dataclass(frozen=True)
class Mount:
    """A value of --container-mounts (`{here}` is a shared folder), a shell line in the container, what it prints."""

    value: str
    line: str
    printed: str
    env: tuple[tuple[str, str], ...] = ()


MOUNTS = {
    "source alone": Mount("{here}/a", "cat {here}/a/file", "a"),
    "source and target": Mount("{here}/a:/data", "cat /data/file", "a"),
    "a file": Mount("{here}/a/file:/opt/image/it", "cat /opt/image/it", "a"),
    "two": Mount("{here}/a:/a,{here}/b:/b", "cat /a/file /b/file", "a\nb"),
    "the last of two on one target": Mount("{here}/a:/data,{here}/b:/data", "cat /data/file", "b"),
    "one below another": Mount("{here}/a:/data,{here}/b:/data/below", "cat /data/file /data/below/file", "a\nb"),
    "read-only": Mount("{here}/a:/data:ro", "echo no 2>/dev/null > /data/new || echo refused", "refused"),
    "writable in a read-only root": Mount("{here}/w:/data", "echo yes > /data/new && cat /data/new", "yes"),
    "two flags": Mount("{here}/a:/data:ro+nosuid", "grep -c ' /data .*ro,nosuid' /proc/mounts", "1"),
    "unknown flags": Mount("{here}/a:/data:z+bogus", "cat /data/file", "a"),
    "a target that is nowhere": Mount("{here}/a:/very/deep/below", "cat /very/deep/below/file", "a"),
    "a relative source": Mount("./a:/data", "cat /data/file", "a"),
    "an apostrophe": Mount("{here}/it's:/data", "cat /data/file", "it's"),
    "a plus": Mount("{here}/a+b:/data", "cat /data/file", "a+b"),
    "a space": Mount("{here}/a b:/data", "cat /data/file", "a b"),
    "a dollar is the node's shell's": Mount("{here}/d$X:/data", "cat /data/file", "door", (("X", "oor"),)),
    "backticks are the node's shell's": Mount("{here}/`true`b:/data", "cat /data/file", "b"),
    "tmpfs": Mount("tmpfs:/scratch:size=1M+mode=700", "df -k /scratch | tail -1 | awk '{print $2}'", "1024"),
    "umount": Mount("umount:/tmp", "grep -c ' /tmp ' /proc/mounts; ls -A /tmp", "0"),
}
FOLDERS = ("a", "b", "w", "it's", "a+b", "a b", "d$X", "door", "`true`b", "a/below")


@pytest.fixture(scope="module")
def here(pyxis: Site) -> Path:
    """A shared folder with folders, each with a file that holds its name."""
    top = pyxis.shared / "mounts"
    for name in FOLDERS:
        (top / name).mkdir(parents=True)
        (top / name / "file").write_text(f"{name}\n")
    (top / "w").chmod(0o777)
    return top


@pytest.fixture
def step(pyxis: Site, here: Path) -> Callable[..., CompletedProcess[str]]:
    """Run a shell line in a container, with options, from the folder of mounts."""

    def run(options: Sequence[str], line: str, **env: str) -> CompletedProcess[str]:
        words = [f"--container-image={pyxis.image(TINY)}", *options, f"--chdir={here}", "sh", "-c", line]
        return pyxis.step(*words, env=env)

    return run


@pytest.mark.parametrize("case", MOUNTS.values(), ids=MOUNTS)
def test_mounts(step: Callable[..., CompletedProcess[str]], here: Path, case: Mount) -> None:
    value, line = (text.replace("{here}", str(here)) for text in (case.value, case.line))
    done = step([f"--container-mounts={value}"], line, **dict(case.env))
    assert (done.returncode in (0, 1), done.stdout) == (True, f"{case.printed}\n"), done.stderr


def test_of_two_options_only_the_last_counts(step: Callable[..., CompletedProcess[str]], here: Path) -> None:
    done = step([f"--container-mounts={here}/a:/a", f"--container-mounts={here}/b:/b"], "ls -d /a /b")
    assert done.stdout == "/b\n"


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("touch /new 2>&1", "touch: /new: Read-only file system"),
        ("touch /tmp/new && ls -A /tmp", "new"),
        ("stat -c %a /tmp", "755"),
        ("test -e /dev/shm && test -e /proc/1 && test -d /sys/class && echo seen", "seen"),
        ("hostname -i >/dev/null && echo known", "known"),
    ],
)
def test_a_root_is_read_only_with_a_fresh_tmp(
    step: Callable[..., CompletedProcess[str]], line: str, printed: str
) -> None:
    assert step([], line).stdout == f"{printed}\n"


def test_the_node_s_tmp_is_hidden(pyxis: Site, step: Callable[..., CompletedProcess[str]]) -> None:
    pyxis.step("touch", "/tmp/of-the-node")
    assert step([], "ls -A /tmp").stdout == ""
    pyxis.step("rm", "/tmp/of-the-node")


@pytest.mark.parametrize(
    ("options", "line", "printed"),
    [
        ((), "pwd", "{home}"),
        (("--container-workdir=/usr",), "pwd", "/usr"),
        (("--container-remap-root",), "pwd", "/root"),
        (("--container-remap-root",), "echo $(id -u) $HOME", "0 /root"),
        (("--container-remap-root",), "touch /new 2>&1", "touch: /new: Read-only file system"),
        (("--container-writable",), "touch /new && ls /new", "/new"),
        (("--container-writable",), "chown 33:33 /etc/passwd && stat -c %u /etc/passwd", "{uid}"),
        (("--container-readonly", "--no-container-remap-root"), "id -un", "{user}"),
        ((), "ls {home}", ""),
        (("--container-mount-home",), "ls {home}", "mine"),
        (("--container-mount-home", "--no-container-remap-root"), "echo $HOME", "{home}"),
    ],
)
def test_switches(
    pyxis: Site, step: Callable[..., CompletedProcess[str]], options: Sequence[str], line: str, printed: str
) -> None:
    pyxis.run(["touch", f"{pyxis.home}/mine"])
    uid = pyxis.run(["id", "-u"]).stdout.strip()
    names = {"{home}": pyxis.home, "{user}": pyxis.user, "{uid}": uid}
    for name, value in names.items():
        line, printed = line.replace(name, value), printed.replace(name, value)
    assert step(options, line).stdout.splitlines() == printed.splitlines()


@pytest.mark.parametrize(
    ("options", "env", "printed"),
    [
        ((), {"ENROOT_ROOTFS_WRITABLE": "y"}, "made"),
        (("--container-readonly",), {"ENROOT_ROOTFS_WRITABLE": "y"}, "refused"),
        ((), {"PYXIS_CONTAINER_WRITABLE": "yes"}, "made"),
        ((), {"PYXIS_CONTAINER_WRITABLE": "maybe"}, "refused"),
        (("--container-readonly",), {"PYXIS_CONTAINER_WRITABLE": "1"}, "refused"),
    ],
)
def test_variables_switch_too(
    step: Callable[..., CompletedProcess[str]], options: Sequence[str], env: dict[str, str], printed: str
) -> None:
    assert step(options, "touch /new 2>/dev/null && echo made || echo refused", **env).stdout == f"{printed}\n"


def test_an_image_with_rc_has_a_working_directory_and_its_entrypoint_is_skipped(pyxis: Site) -> None:
    done = pyxis.step(f"--container-image={pyxis.image(ENTRY)}", "sh", "-c", "pwd; echo $FROM_ENTRY")
    assert done.stdout == "/srv/here\n\n"


def test_of_an_entrypoint_only_the_environment_survives(pyxis: Site) -> None:
    words = [f"--container-image={pyxis.image(ENTRY)}", "--container-entrypoint", "sh", "-c", "echo $FROM_ENTRY"]
    assert pyxis.step(*words).stdout == "3\n"
