"""Documents of registries, logins and challenges: what is read, and what is refused."""

import base64
import json

import pytest

from launcher.images import login, oci
from launcher.images.challenge import Challenge, challenges
from launcher.images.login import Login
from launcher.images.oci import Descriptor, Manifest, Platform

DIGEST = f"sha256:{'a' * 64}"
TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"


def body(**data: object) -> bytes:
    return json.dumps(data).encode()


def layer(kind: str = TYPE, **data: object) -> dict[str, object]:
    return {"mediaType": kind, "digest": DIGEST, "size": 2, **data}


CONFIG = {"mediaType": "x", "digest": DIGEST, "size": 7}

REFUSED = [
    (b"", "no JSON"),
    (b"[" * 100_000, "no JSON"),
    (b"[]", "no JSON object"),
    (body(), "`no media type` is neither"),
    (body(schemaVersion=1), "schema 1, which no runtime reads"),
    (body(mediaType="text/plain"), "`text/plain` is neither"),
    (body(config=CONFIG), "no list of layers"),
    (body(config={}, layers=[]), "digest and size"),
    (body(config=[], layers=[]), "digest and size"),
    (body(config={**CONFIG, "digest": "md5:x"}, layers=[]), "`md5:x` is no digest"),
    (body(config={**CONFIG, "digest": f"sha256:{'A' * 64}"}, layers=[]), "is no digest"),
    (body(config=CONFIG, layers=[layer("application/x")]), "`application/x` is none of a container image"),
    (body(mediaType=oci.INDEXES[0]), "no list of manifests"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_refused(text: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        oci.read(text)


@pytest.mark.parametrize(
    ("kind", "compression"),
    [
        (TYPE, "gzip"),
        ("application/vnd.docker.image.rootfs.diff.tar.gzip", "gzip"),
        ("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "gzip"),
        ("application/vnd.oci.image.layer.v1.tar+zstd", "zstd"),
        ("application/vnd.oci.image.layer.nondistributable.v1.tar", "none"),
    ],
)
def test_layers(kind: str, compression: str) -> None:
    found = oci.read(body(config=CONFIG, layers=[layer(kind), layer(size=40)]))
    assert isinstance(found, Manifest)
    assert (found.layers[0].compression, found.size, found.config) == (compression, 49, Descriptor(DIGEST, 7))


def test_an_index_without_attestations() -> None:
    entries = [
        {"digest": DIGEST, "size": 1, "platform": {"architecture": name, "os": "linux"}}
        for name in ("arm64", "unknown", "riscv64")
    ]
    found = oci.read(body(manifests=[*entries, {"digest": DIGEST, "size": 1}]))
    assert found == (Platform(DIGEST, "aarch64", "linux"), Platform(DIGEST, "riscv64", "linux"))
    assert isinstance(found, tuple)
    assert oci.chosen(found, "aarch64") == found[0]
    assert oci.chosen(found, "x86_64") is None


def test_a_configuration_of_something_else() -> None:
    for text in (b"{}", b"x", body(architecture="amd64", config=[1])):
        with pytest.raises(ValueError, match="configuration"):
            oci.config(text)
    assert oci.config(body(architecture="amd64", config=None)).arch == "x86_64"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Basic realm=x", [Challenge("basic", "x")]),
        (
            'Bearer realm="https://a/t?x=1,2",service="s \\"q\\"",scope="repository:a/b:pull,push"',
            [Challenge("bearer", "https://a/t?x=1,2", 's "q"', "repository:a/b:pull,push")],
        ),
        ('Basic realm="a", Bearer realm="b"', [Challenge("basic", "a"), Challenge("bearer", "b")]),
        ("Negotiate, Basic realm=x", [Challenge("negotiate"), Challenge("basic", "x")]),
        ("", []),
        (",,", []),
    ],
)
def test_challenges(header: str, found: list[Challenge]) -> None:
    assert challenges([header]) == found


AUTH = base64.b64encode(b"ann:se:cret").decode()


@pytest.mark.parametrize(
    ("data", "registry", "found"),
    [
        ({"auths": {"r.io": {"auth": AUTH}}}, "r.io", ("ann", "se:cret", False)),
        ({"auths": {"https://r.io": {"username": "b", "password": "c"}}}, "r.io", ("b", "c", False)),
        ({"auths": {"https://index.docker.io/v1/": {"auth": AUTH}}}, "docker.io", ("ann", "se:cret", False)),
        ({"auths": {"r.io": {"identitytoken": "t", "auth": AUTH}}}, "r.io", ("ann", "t", True)),
        ({"auths": {"r.io/team": {"auth": AUTH}, "r.io": {"username": "x", "password": "y"}}}, "r.io", None),
        ({"auths": {"r.io": {"auth": f"{AUTH}\n"}}}, "r.io", ("ann", "se:cret", False)),
        ({"auths": {"https://r.io/": {"auth": AUTH}}}, "r.io", ("ann", "se:cret", False)),
        ({"auths": {"http://r.io/v2": {"auth": AUTH}}}, "r.io", ("ann", "se:cret", False)),
        ({"auths": {"r.io": {"auth": "%"}}}, "r.io", ()),
        ({"auths": {"r.io": {}}}, "r.io", ()),
        ({"auths": {"other.io": {"auth": AUTH}}}, "r.io", ()),
        ({}, "r.io", ()),
    ],
)
def test_logins_of_docker(data: dict[str, object], registry: str, found: tuple[object, ...] | None) -> None:
    made = login.docker(data, registry, "team/image", "f")
    if found is None:  # the longest namespace
        found = ("ann", "se:cret", False)
    assert (made and (made.user, made.password, made.token)) == (found or None)


def test_helpers() -> None:
    data = {"credsStore": "pass", "credHelpers": {"r.io": "ecr"}}
    assert login.helper(data, "r.io") == ("ecr", "r.io")
    assert login.helper(data, "x.io") == ("pass", "x.io")
    assert login.helper(data, "docker.io") == ("pass", "https://index.docker.io/v1/")
    assert login.helper({}, "r.io") is None


NETRC = """\
# a comment: machine r.io login no password no
machine r.io login ann password a$b
machine r.io login bob
  password ${WORD}
machine auth.docker.io login carl password p
machine authn.nvidia.com login $oauthtoken password key
machine c.io login d password $(secret)
macdef init
machine m.io login no password no
bin

machine m.io account x login "eve two" password "a \\"word\\" # b"
machine n.io login nobody
"""
DEFAULT = f"{NETRC}default login any password one\n"


@pytest.mark.parametrize(
    ("registry", "user", "found"),
    [
        ("r.io", None, ("ann", "a")),
        ("r.io:5000", None, ("ann", "a")),
        ("r.io", "bob", ("bob", "open")),
        ("r.io", "eve", None),
        ("docker.io", None, ("carl", "p")),
        ("nvcr.io", "$oauthtoken", ("$oauthtoken", "key")),
        ("m.io", None, ("eve two", 'a "word" # b')),
        ("n.io", None, None),
        ("x.io", None, None),
    ],
)
def test_logins_of_enroot(registry: str, user: str | None, found: tuple[str, str] | None) -> None:
    made = login.netrc(NETRC, registry, user, {"WORD": "open"}, "f")
    assert (made and (made.user, made.password)) == found


def test_a_login_for_whatever_has_no_other() -> None:
    found = {name: login.netrc(DEFAULT, name, None, {}, "f") for name in ("r.io", "n.io", "x.io")}
    assert {name: made and made.user for name, made in found.items()} == {"r.io": "ann", "n.io": "any", "x.io": "any"}


def test_a_password_that_is_a_command_is_not_run() -> None:
    with pytest.raises(ValueError, match=r"the password of `c.io` in `f` is a command"):
        login.netrc(NETRC, "c.io", None, {}, "f")


def test_a_login_does_not_show_its_password() -> None:
    assert "sesame" not in repr(Login("ann", "sesame", "f"))
