"""Credential helpers that fail in every way: what is public is shown all the same, and a refusal says what failed."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from launcher.execute.images.failure import Failure
from launcher.execute.images.logins import Logins
from launcher.execute.images.registry import Registry, Remote
from launcher.execute.images.transport import Limits, Transport
from launcher.execute.world import Real
from launcher.images.reference import Reference, parse
from tests.testbed import oci, registry
from tests.testbed.registry import Proxy, Served

IMAGE = oci.image([[oci.Entry("a")]])
QUICK = Limits(pause=0.001)


@pytest.fixture
def front(served: Served) -> Iterator[Proxy]:
    """Gives tokens: to everybody unless it has a `login`."""
    served.pusher.push("h/image", "1", IMAGE)
    with registry.proxy(served.host) as running:
        running.bearer = True
        yield running


def ask(front: Proxy, environ: Mapping[str, str], patience: float = 30.0) -> Remote:
    wanted = parse(f"{front.host}/h/image:1")
    assert isinstance(wanted, Reference)
    transport = Transport(Real(environ), Logins(environ, patience), limits=QUICK)
    try:
        return Registry(transport).image(wanted, "x86_64")
    finally:
        transport.close()


def home(folder: Path, host: str, helper: str | None) -> Mapping[str, str]:
    """The environment of somebody with this helper for the registry; None: one that is not there."""
    (folder / ".docker").mkdir()
    (folder / ".docker/config.json").write_text(json.dumps({"credHelpers": {host: "x"}}))
    if helper is not None:
        program = folder / "docker-credential-x"
        program.write_text(f"#!/bin/sh\n{helper}\n")
        program.chmod(0o755)
    return {"HOME": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}


HELPERS = [
    (None, " without a login, and the credential helper `docker-credential-x` cannot be run"),
    ("echo 'gpg: decryption failed'; exit 1", "`docker-credential-x` failed: gpg: decryption failed"),
    ("echo trouble >&2; exit 1", "`docker-credential-x` failed: trouble"),
    ("exit 3", "`docker-credential-x` failed: it ended with 3"),
    ("echo hello", "`docker-credential-x` answers with no login"),
    ("""echo '["a"]'""", "`docker-credential-x` answers with no login"),
    ("echo 'credentials not found in native keychain'; exit 1", "without a login: it is private, or does not exist"),
    ("exec sleep 600", "`docker-credential-x` did not answer"),
]


@pytest.mark.parametrize(("helper", "said"), HELPERS)
def test_a_helper_that_fails(front: Proxy, tmp_path: Path, helper: str | None, said: str) -> None:
    environ = home(tmp_path, front.host, helper)
    patience = 0.5 if helper and "sleep" in helper else 30.0
    assert ask(front, environ, patience).manifest.digest == IMAGE.digest
    front.login = ("ann", "word")
    with pytest.raises(Failure) as raised:
        ask(front, environ, patience)
    assert (raised.value.kind, said in raised.value.message) == ("denied", True), raised.value.message
    named = f"`{tmp_path}/.docker/config.json` names it for `{front.host}`"
    assert raised.value.advice == named or "is private" in said


def test_one_that_tells(front: Proxy, tmp_path: Path) -> None:
    secret = 'a:b "c" $d \'é'
    answer = json.dumps({"Username": "ann", "Secret": secret})
    (tmp_path / "answer").write_text(answer)
    front.login = ("ann", secret)
    assert ask(front, home(tmp_path, front.host, f"cat {tmp_path}/answer")).manifest.digest == IMAGE.digest
