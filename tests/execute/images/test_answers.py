"""Questions about images, answered by a real registry."""

from pathlib import Path

import pytest

from launcher.execute.images import answers
from launcher.model.facts import Answer, Header, Tag
from tests.testbed import oci
from tests.testbed.registry import Served

SHELL = [oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry("usr/bin/python3.12", b"#", mode=0o755)]
PACKAGE = [oci.Entry("usr/local/lib/python3.12/site-packages/vllm-0.33.0.dist-info/METADATA", b"Name: vllm\n")]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LAUNCH_OFFLINE", raising=False)
    answers.registry.cache_clear()


def ask(served: Served, name: str, *layers: list[oci.Entry], history: tuple[str, ...] = ()) -> Answer:
    served.pusher.push(f"q/{name}", "1", oci.image(layers, history=history, compression="zstd"))
    try:
        return answers.answer(Tag(f"{served.host}/q/{name}:1", "x86_64", ("python3.12", "nope"), ("vllm",)))
    finally:
        answers.registry(frozenset()).transport.close()


def test_a_small_image_is_looked_into(served: Served) -> None:
    found = ask(served, "shell", SHELL, PACKAGE).image
    assert found is not None
    assert (found.shell, found.programs, found.versions) == (True, ("python3.12",), (("vllm", "0.33.0"),))


def test_a_distroless_image_is_named(served: Served) -> None:
    found = ask(served, "none", [oci.Entry("app/epp", b"#", mode=0o755)], history=("COPY epp /app/epp",)).image
    assert found is not None
    assert (found.shell, found.programs) == (False, ())


def test_an_image_that_a_shell_has_made_has_one(served: Served) -> None:
    found = ask(served, "made", [oci.Entry("a")], history=("/bin/sh -c #(nop) CMD x", "/bin/sh -c apt-get update"))
    assert found.image is not None
    assert (found.image.shell, found.image.programs) == (True, None)


def test_a_no_says_why(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = answers.answer(Tag(f"{served.host}/q/absent:1", "x86_64"))
    assert (absent.yes, absent.fault) == (False, "absent")
    assert answers.answer(Header("/nonexistent/x.sqsh")).fault == "absent"
    monkeypatch.setenv("LAUNCH_OFFLINE", "1")
    answers.registry(frozenset()).transport.close()
    answers.registry.cache_clear()
    assert answers.answer(Tag(f"{served.host}/q/absent:1", "x86_64")).fault == "offline"


def test_without_nodes_to_ask_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = answers.answer(Header("/raid/x.sqsh", compute=()))
    assert (found.fault, found.text) == (
        "unreachable",
        "no compute node could be asked for `/raid/x.sqsh`: `srun` cannot be run",
    )
    (tmp_path / "srun").write_text("#!/bin/sh\necho 'srun: error: Unable to allocate resources' >&2\nexit 1\n")
    (tmp_path / "srun").chmod(0o755)
    assert "Unable to allocate resources" in answers.answer(Header("/raid/x.sqsh", compute=())).text
