"""What a child is given: its environment to the byte, a clean slate of signals and descriptors, and no secrets."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.execute import local
from launcher.execute.journal import ARCHIVE
from launcher.run.child import absent, environment, inherited
from launcher.run.script import Child, Gate
from launcher.run.words import DETACH
from tests.run.rig import IDLE, Rig, Watched, Web, child, environments, python, script, until

DUMP = """
import os
open('environ.part', 'wb').write(open('/proc/self/environ', 'rb').read())
os.rename('environ.part', 'environ')
"""
VALUES = {
    "EVERY_CHARACTER": "".join(map(chr, range(1, 256))),
    "EVERY_BYTE": bytes(range(1, 256)).decode("utf-8", "surrogateescape"),
    "JSON": json.dumps({"a": [1, {"b": 'q"\\'}], "ü": None}),
    "LINES": "one\ntwo=2\n\nHOME=/evil\n",
    "SHELL_WORDS": "$HOME `id` $(id) ${X:-y} 'a' \"b\" ; & | > < * ? # !",
    "EMPTY": "",
    "SPACE": " ",
    "WIDE": "😀\u2028\u00a0",
    "LONG": "x" * 120_000,
}


@pytest.mark.parametrize("locale", [{}, {"LANG": "C", "LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}], ids=str)
def test_environment_arrives_to_the_byte(rig: Rig, locale: Mapping[str, str]) -> None:
    rig.environ = {"PATH": "/usr/bin:/bin", "HOME": "/h", "OTHER": "not let through", "LC_X": "ä", **locale}
    step = child("a", python(DUMP + IDLE), env=dict(VALUES))
    watched = rig.start(script(step))
    until((watched.path / "environ").exists, "the step wrote its environment")
    found = dict(entry.split(b"=", 1) for entry in (watched.path / "environ").read_bytes().split(b"\0")[:-1])
    wanted = {"PATH": "/usr/bin:/bin", "HOME": "/h", "LC_X": "ä", "LAUNCH_RUN": str(watched.path), **VALUES}
    wanted |= {name: value for name, value in locale.items() if name.startswith("LC_")}
    assert found == {name.encode(): value.encode("utf-8", "surrogateescape") for name, value in wanted.items()}


def test_a_secret_is_seen_only_by_who_asked(rig: Rig) -> None:
    canary = "canary-6f1c0d"
    rig.environ["HF_TOKEN"] = canary
    rig.environ["OTHER_TOKEN"] = canary[::-1]
    asking = child("asking", python(IDLE), env_from=("HF_TOKEN", "NOT_SET"))
    watched = rig.start(script(asking, child("other", python(IDLE)), last_words=(("sh", "-c", "env > words"),)))
    watched.event("ready")
    may = {watched.pid(name) for name in ("keeper", "supervisor", "asking")}
    seen = environments()
    assert {pid for pid, text in seen.items() if canary.encode() in text} == may
    assert not any(canary[::-1].encode() in text for text in seen.values())
    start = watched.event("start", "asking")
    assert (start["env_from"], start["absent"]) == (["HF_TOKEN", "NOT_SET"], ["NOT_SET"])
    local.stop(rig.world, watched.run)
    files = [path for path in watched.path.rglob("*") if path.is_file()]
    assert (watched.path / "words") in files
    assert [path for path in files if canary.encode() in path.read_bytes()] == []


def test_gates_are_asked_without_proxies(rig: Rig, web: Web) -> None:
    web.answers["/"] = (200, "")
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    rig.environ |= dict.fromkeys(names, "http://127.0.0.1:1")
    rig.environ["no_proxy"] = ""
    step = child("a", python(IDLE), env_from=(*names, "no_proxy"), gates=(Gate("http", f"{web.url}/"),))
    watched = rig.start(script(step, ready=(Gate("gauge", f"{web.url}/"),)))
    watched.event("ready")
    assert [path for _, path, _ in web.asked] == ["/", "/"]


def test_signals_and_descriptors_are_as_after_boot(rig: Rig) -> None:
    # Started as by `nohup` from a shell's background job, with a descriptor the shell left open.
    wanted = script(child("a", ("sleep", "3600")))
    run = rig.create(wanted)
    start = f"exec {sys.executable} -I {run.path / ARCHIVE} {DETACH} {run.path}"
    words = f'trap "" INT HUP QUIT USR1; exec 9</dev/null; {start}'
    ran = rig.world.run(("sh", "-c", words), local.environment(rig.world.environ, run.path, wanted))
    assert (ran.exit, ran.err) == (0, "")
    watched = Watched(rig.world, run)
    pid = watched.pid("a")
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    # Signals 32 and 33 are glibc's own (nptl): its `posix_spawn` leaves them ignored where they were.
    assert [int(status[name], 16) & ~(3 << 31) for name in ("SigBlk", "SigIgn")] == [0, 0]
    assert sorted(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()) == [0, 1, 2]
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")
    assert {Path(f"/proc/{pid}/fd/{n}").readlink() for n in (1, 2)} == {watched.path / "logs/a.log"}
    assert os.getsid(pid) == os.getpgid(pid) == pid


def test_inherited_names() -> None:
    environ = {b"PATH": b"p", b"LC_ALL": b"c", b"LC_": b"x", b"LCX": b"y", b"SECRET": b"s"}
    assert inherited(("PATH", "LC_*", "ABSENT"), environ) == {b"PATH": b"p", b"LC_ALL": b"c", b"LC_": b"x"}
    assert inherited((), environ) == {}


def test_what_is_nearer_wins() -> None:
    step = Child("a", "a", ("x",), env={"A": "own", "LAUNCH_RUN": "evil"}, env_from=("B", "A", "GONE"))
    found = environment(step, ("A", "B", "C"), "/r", {b"A": b"shell", b"B": b"b", b"C": b"c", b"D": b"d"})
    assert found == {b"A": b"own", b"B": b"b", b"C": b"c", b"LAUNCH_RUN": b"/r"}
    assert absent(step, {b"A": b""}) == ["B", "GONE"]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(st.dictionaries(texts.filter(lambda name: name and "=" not in name), texts))
def test_values_are_utf_8(env: dict[str, str]) -> None:
    found = environment(Child("a", "a", ("x",), env=env), (), "/r", {})
    assert found == {**{name.encode(): value.encode() for name, value in env.items()}, b"LAUNCH_RUN": b"/r"}
