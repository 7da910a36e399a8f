"""From script and slots to a bound Script with its files, or to the reason why not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.run import prepare
from launcher.run.script import Child, Expect, File, Gate, Script, Stop, bind, dump, load, ref


def child(name: str = "a", **more: object) -> Child:
    return replace(Child(name, name, ("true",)), **more)  # type: ignore[arg-type]


def script(*children: Child, **more: object) -> Script:
    return replace(Script("test", ("run", "ip0"), children), **more)  # type: ignore[arg-type]


def store(run: Path, wanted: Script, slots: object = None) -> None:
    (run / "script.json").write_text(dump(wanted), encoding="ascii")
    (run / "slots.json").write_text(json.dumps({"run": str(run), "ip0": "10.0.0.1"} if slots is None else slots))


BROKEN = [
    ("circle", script(child("a", after=("b",)), child("b", after=("a",))), "steps wait for each other: `a`, `b`"),
    ("itself", script(child("a", after=("a",))), "steps wait for each other: `a`"),
    ("stranger", script(child("a", after=("c",))), "step `a` comes after `c`, which does not exist"),
    ("twice", script(child("a"), child("a")), "two steps are called `a`"),
    ("path", script(child("../a")), "`../a` is no name of a step"),
    ("words", script(child("a", argv=())), "step `a` has no command"),
    ("signal", script(child("a", stop=Stop("TREM"))), "step `a` wants the unknown signal `TREM`"),
    ("gate", script(child("a"), ready=(Gate("smoke", "http://a"),)), "a gate of the unknown kind `smoke`"),
    ("step's gate", script(child("a", gates=(Gate("x", ""),))), "a gate of the unknown kind `x`"),
    ("above", script(child("a"), files=(File("a/../../b", ""),)), "`a/../../b` is not inside the run directory"),
    ("root", script(child("a"), files=(File("/b", ""),)), "`/b` is not inside the run directory"),
    ("slot", script(child("a"), slots=("run", "moon")), "no value for the late reference `moon`"),
    ("mark", script(child("a", argv=(ref("moon"),))), "no value for the late reference 'moon'"),
]


@pytest.mark.parametrize(("wanted", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_cannot_be_run_is_refused(tmp_path: Path, wanted: Script, message: str) -> None:
    store(tmp_path, wanted)
    with pytest.raises(ValueError, match=r".") as raised:
        prepare.read(tmp_path.as_posix())
    assert message in str(raised.value)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": 2}', '{"schema": 1}', "{", '{"schema": 1, "name": 3}'])
def test_what_is_no_script_is_refused(tmp_path: Path, text: str) -> None:
    store(tmp_path, script(child()))
    (tmp_path / "script.json").write_text(text)
    with pytest.raises(ValueError, match=r"script|JSON|Expecting"):
        prepare.read(str(tmp_path))


def test_reading_binds_everything(tmp_path: Path) -> None:
    gate = Gate("http", f"http://{ref('ip', 0)}:1/", (Expect("a", where={"url": ref("ip", 0)}),))
    wanted = script(
        child(argv=("x", ref("run")), env={"A": ref("ip", 0)}, gates=(gate,), cwd=ref("run")),
        files=(File("f", data={ref("ip", 0): [ref("run")]}),),
        ready=(gate,),
        url=f"http://{ref('ip', 0)}:8000",
    )
    store(tmp_path, wanted)
    found = prepare.read(str(tmp_path))
    assert found == bind(wanted, {"run": str(tmp_path), "ip0": "10.0.0.1"})
    assert "\ufdd0" not in dump(found)


def test_writing(tmp_path: Path) -> None:
    text = "#!/bin/bash\r\n\tprintf '%s' \"ü\udcff\"\n"
    files = (
        File("setup/role.sh", text, mode=0o755),
        File("config.json", data={"address": ref("ip", 0), "list": [ref("run"), 1, None, True], "ü😀": "\x07"}),
    )
    store(tmp_path, script(child(), files=files))
    bound = prepare.read(str(tmp_path))
    prepare.write(str(tmp_path), bound)
    assert (tmp_path / "setup/role.sh").read_bytes() == text.encode("utf-8", "surrogateescape")
    assert (tmp_path / "setup/role.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "config.json").stat().st_mode & 0o7777 == 0o600
    # Raw, not as surrogate pairs: Envoy and others read it as YAML.
    assert "ü😀".encode() in (tmp_path / "config.json").read_bytes()
    data = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert data == {"address": "10.0.0.1", "list": [str(tmp_path), 1, None, True], "ü😀": "\x07"}
    assert load((tmp_path / "bound.json").read_text()) == bound
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        *("bound.json", "config.json", "script.json", "setup", "slots.json")
    ]


names = st.text("abcdefgh-_.0123456789", min_size=1, max_size=8)


@given(st.lists(st.tuples(names, st.lists(names, max_size=3)), max_size=8))
def test_a_script_is_refused_or_can_be_started_to_its_end(steps: list[tuple[str, list[str]]]) -> None:
    wanted = script(*(child(name, after=tuple(after)) for name, after in steps))
    if not list(prepare.faults(wanted)):
        opened: set[str] = set()
        for _ in steps:
            opened |= {step.name for step in wanted.children if opened.issuperset(step.after)}
        assert opened == {step.name for step in wanted.children}
    else:
        known = [name for name, _ in steps]
        reached: set[str] = set()
        for _ in steps:
            reached |= {name for name, after in steps if reached.issuperset(after)}
        assert len(set(known)) < len(known) or reached != set(known)
