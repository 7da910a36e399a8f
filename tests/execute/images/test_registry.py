"""What a registry has: asked of a real one, and of one that misbehaves."""

import base64
import json
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from launcher.execute.images.failure import Failure
from launcher.execute.images.registry import Registry
from launcher.execute.images.transport import Limits
from launcher.execute.world import Real
from tests.execute.images import clients
from tests.execute.images.clients import named
from tests.testbed import oci, registry
from tests.testbed.registry import PASSWORD, USER, Fault, Proxy, Served

LAYER = [oci.Entry("etc/os-release", b"ID=tiny\n")]
SETTINGS = {"Env": ["PATH=/usr/bin", "NVIDIA_REQUIRE_CUDA=cuda>=13.0"], "Entrypoint": ["vllm", "serve"], "User": "app"}
QUICK = Limits(connect=2.0, read=1.0, whole=5.0, tries=3, pause=0.01, longest=2.0)


@dataclass
class Clock(Real):
    """The world with pauses that are noted, not made."""

    paused: list[float] = field(default_factory=list)

    def pause(self, seconds: float) -> None:
        """Notes it."""
        self.paused.append(seconds)


def client(environ: Mapping[str, str] | None = None, cache: Path | None = None, limits: Limits = QUICK) -> Registry:
    return clients.client(Clock({"HOME": "/nonexistent", **(environ or {})}), limits, cache)


@pytest.fixture
def front(served: Served) -> Iterator[Proxy]:
    """A proxy before the open registry."""
    with registry.proxy(served.host) as running:
        yield running


@pytest.fixture(scope="module")
def pushed(served: Served) -> Mapping[str, Any]:
    """One image of two architectures in both dialects and all compressions, and one of a single architecture."""
    push = served.pusher.push
    both = [oci.image([LAYER], arch=arch, config=SETTINGS) for arch in ("amd64", "arm64")]
    docker = [oci.image([LAYER], arch=arch, dialect="docker") for arch in ("amd64", "arm64")]
    zstd = oci.image([LAYER, [oci.Entry("a")]], compression="zstd")
    plain = oci.image([LAYER], compression="none", arch="arm64")
    return {
        "both": push("t/both", "1", *both),
        "docker": push("t/docker", "1", *docker, dialect="docker"),
        "zstd": push("t/zstd", "1", zstd),
        "plain": push("t/plain", "1", plain),
        "images": {"both": both, "docker": docker, "zstd": [zstd], "plain": [plain]},
    }


@pytest.mark.parametrize("name", ["both", "docker", "zstd", "plain"])
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_an_image_of_each_kind(served: Served, pushed: Mapping[str, Any], name: str, arch: str) -> None:
    images = {made.arch: made for made in pushed["images"][name]}
    go = {"x86_64": "amd64", "aarch64": "arm64"}[arch]
    made = images.get(go) or pushed["images"][name][0]
    found = client().image(named(served.host, f"t/{name}:1"), arch)
    assert (found.digest, found.manifest.digest) == (pushed[name], made.digest)
    assert found.manifest.size == made.size
    assert found.config.arch == {"amd64": "x86_64", "arm64": "aarch64"}[made.arch]
    assert len(found.architectures) == len(images)


def test_what_an_image_says_of_itself(served: Served, pushed: Mapping[str, Any]) -> None:
    config = client().image(named(served.host, "t/both:1"), "aarch64").config
    assert config.env == ("PATH=/usr/bin", "NVIDIA_REQUIRE_CUDA=cuda>=13.0")
    assert (config.entrypoint, config.user) == (("vllm", "serve"), "app")


def test_nothing_is_asked_twice(front: Proxy, pushed: Mapping[str, Any], tmp_path: Path) -> None:
    asked = client(cache=tmp_path)
    wanted = named(front.host, "t/both:1")
    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(lambda _: asked.image(wanted, "aarch64"), range(8)))
    assert len(front.seen) == len(set(front.paths())) == 4  # HEAD, index, manifest, configuration
    front.seen.clear()
    client(cache=tmp_path).image(wanted, "aarch64")
    assert [how for how, _, _ in front.seen] == ["HEAD"]
    front.seen.clear()
    pinned = named(front.host, f"t/both@{pushed['both']}")
    client({"LAUNCH_OFFLINE": "1"}, cache=tmp_path).image(pinned, "aarch64")
    assert front.seen == []


def test_offline_asks_nobody(front: Proxy) -> None:
    with pytest.raises(Failure, match="`LAUNCH_OFFLINE` is set") as raised:
        client({"LAUNCH_OFFLINE": "1"}).digest(named(front.host, "t/both:1"))
    assert (raised.value.kind, front.seen) == ("offline", [])


REFUSED: list[tuple[str, list[Fault], str, str]] = [
    ("t/both:2", [], "absent", "has no `t/both:2`"),
    ("t/none:1", [], "absent", "has no `t/none:1`"),
    ("t/both:1", [Fault("HEAD", status=401)], "denied", "to nobody without a login"),
    ("t/both:1", [Fault("HEAD", status=403)], "denied", "to nobody without a login"),
    ("t/both:1", [Fault("HEAD", status=429)], "limited", "has been asked too often"),
    ("t/both:1", [Fault("HEAD", status=429, headers={"Retry-After": "900"})], "limited", "has been asked too often"),
    ("t/both:1", [Fault("HEAD", status=503)], "unreachable", "answers 503 again and again"),
    ("t/both:1", [Fault("HEAD", status=418)], "faulty", "answers 418"),
    ("t/both:1", [Fault("GET .*/manifests/", stall=1.5)], "unreachable", "does not answer"),
    ("t/both:1", [Fault("GET .*/manifests/", drop=True)], "unreachable", "breaks its answer off"),
    ("t/both:1", [Fault("GET .*/manifests/", cut=40)], "unreachable", "breaks its answer off"),
    ("t/both:1", [Fault("GET .*/blobs/", cut=0)], "unreachable", "breaks its answer off"),
    ("t/both:1", [Fault("GET .*/manifests/", length=30)], "faulty", "sends something else than `sha256:"),
    ("t/both:1", [Fault("GET .*/manifests/", spoil=True)], "faulty", "sends something else than `sha256:"),
    ("t/both:1", [Fault("GET .*/blobs/", spoil=True)], "faulty", "sends something else than `sha256:"),
    ("t/both:1", [Fault("", status=307, headers={"Location": "/v2/t/both/manifests/1"})], "faulty", "without an end"),
]


@pytest.mark.parametrize(("image", "faults", "kind", "said"), REFUSED)
def test_a_registry_that_refuses_or_misbehaves(
    front: Proxy, pushed: Mapping[str, Any], image: str, faults: list[Fault], kind: str, said: str
) -> None:
    front.faults[:] = [Fault(**vars(fault)) for fault in faults]
    with pytest.raises(Failure) as raised:
        client().image(named(front.host, image), "x86_64")
    assert (raised.value.kind, said in raised.value.message) == (kind, True), raised.value.message


@pytest.mark.parametrize(
    "faults",
    [
        [Fault("HEAD", times=2, status=429)],
        [Fault("HEAD", times=1, status=429, headers={"Retry-After": "1"}), Fault("GET", times=1, status=503)],
        [Fault("GET", times=2, drop=True)],
        [Fault("GET", times=2, cut=10)],
        [Fault("GET .*/blobs/", times=1, stall=1.5)],
    ],
)
def test_what_fails_for_a_moment_is_tried_again(front: Proxy, pushed: Mapping[str, Any], faults: list[Fault]) -> None:
    front.faults[:] = [Fault(**vars(fault)) for fault in faults]
    found = client()
    assert found.image(named(front.host, "t/both:1"), "x86_64").digest == pushed["both"]
    paused = found.transport.world.paused  # type: ignore[attr-defined]
    assert len(paused) == sum(fault.times for fault in faults)
    assert not faults[0].headers or max(paused) >= 1


def test_a_registry_that_says_no_digest(front: Proxy, pushed: Mapping[str, Any]) -> None:
    front.faults.append(Fault("HEAD", headers={"Docker-Content-Digest": ""}))
    assert client().digest(named(front.host, "t/both:1")) == pushed["both"]


def test_the_host_that_failed_is_named(front: Proxy, served: Served, pushed: Mapping[str, Any]) -> None:
    """It may be another than the registry: one that it sends on to, or its token server; or one that speaks no TLS."""
    front.faults.append(Fault("GET .*/blobs/", status=307, headers={"Location": "http://127.0.0.1:1/blob"}))
    with pytest.raises(Failure, match=r"^`127\.0\.0\.1:1` cannot be reached: ") as raised:
        client().image(named(front.host, "t/both:1"), "x86_64")
    assert raised.value.kind == "unreachable"
    name = f"{socket.gethostname()}:{served.host.partition(':')[2]}"
    with pytest.raises(Failure, match=f"^`{name}` cannot be reached: ") as raised:
        client().image(named(name, "t/both:1"), "x86_64")
    assert (raised.value.kind, f'`plain_http = ["{name}"]`' in str(raised.value.advice)) == ("unreachable", True)


def test_tls_on_this_machine(tmp_path: Path) -> None:
    """Who speaks it is asked so; whose certificate nobody here trusts is not asked at all."""
    with registry.registry(tmp_path, tls=True) as closed:
        wanted, folder = named(closed.host, "t/one:1"), f"containers/certs.d/{closed.host}"
        asked = client({"XDG_CONFIG_HOME": str(tmp_path)})
        with pytest.raises(Failure, match=r"that is not trusted here: self-signed certificate$") as raised:
            asked.digest(wanted)
        assert (raised.value.kind, f"`~/.config/{folder}/ca.crt`" in str(raised.value.advice)) == ("unreachable", True)
        assert asked.transport.world.paused == []  # type: ignore[attr-defined]
        (tmp_path / folder).mkdir(parents=True)
        trusted = tmp_path / folder / "site.crt"
        trusted.write_bytes((tmp_path / "ca.crt").read_bytes())
        # It is there, and has no such image.
        with pytest.raises(Failure, match="has no `t/one:1`"):
            client({"XDG_CONFIG_HOME": str(tmp_path)}).digest(wanted)
        named_so = named(closed.host.replace("127.0.0.1", "localhost"), "t/one:1")
        (trusted.parent.parent / named_so.registry).symlink_to(trusted.parent)
        with pytest.raises(Failure, match=r"not trusted here: .*mismatch") as raised:
            client({"XDG_CONFIG_HOME": str(tmp_path)}).digest(named_so)
        assert raised.value.advice == "name it as the certificate does"
        trusted.write_bytes(b"no certificate")
        with pytest.raises(Failure, match=r"site\.crt` has no certificate: "):
            client({"XDG_CONFIG_HOME": str(tmp_path)}).digest(wanted)


def test_a_platform_that_is_not_there(served: Served) -> None:
    served.pusher.push("t/one", "1", *[oci.image([LAYER], arch=arch) for arch in ("amd64", "s390x")])
    with pytest.raises(Failure) as raised:
        client().image(named(served.host, "t/one:1"), "aarch64")
    assert raised.value.kind == "platform"
    assert raised.value.message == "`t/one:1` is not there for aarch64"
    assert raised.value.advice == "it is for linux/x86_64, linux/s390x"


def test_a_tag_that_was_deleted(served: Served) -> None:
    digest = served.pusher.push("t/gone", "1", oci.image([LAYER], config={"User": "gone"}))
    assert client().digest(named(served.host, "t/gone:1")) == digest
    served.pusher.delete("t/gone", digest)
    with pytest.raises(Failure, match="has no `t/gone:1`"):
        client().digest(named(served.host, "t/gone:1"))


def test_redirects_lose_the_login(closed: Served, served: Served) -> None:
    """A blob that is elsewhere, as behind a CDN: the other host must not see who asks."""
    image = oci.image([LAYER])
    closed.pusher.push("t/cdn", "1", image)
    served.pusher.push("t/cdn", "1", image)
    environ = _docker(closed.host, f"{USER}:{PASSWORD}")
    with registry.proxy(served.host) as elsewhere, registry.proxy(closed.host) as near:
        where = f"http://{elsewhere.host}/v2/t/cdn/blobs/{image.config}"
        near.faults.append(Fault("GET .*/blobs/", status=307, headers={"Location": where}))
        environ = _docker(near.host, f"{USER}:{PASSWORD}")
        assert client(environ).image(named(near.host, "t/cdn:1"), "x86_64").config.arch == "x86_64"
        assert [path for path in elsewhere.paths() if "/blobs/" in path]
        assert not [headers for _, _, headers in elsewhere.seen if "authorization" in map(str.lower, headers)]
        assert [headers for _, _, headers in near.seen if "Authorization" in headers]


def _docker(host: str, login: str) -> dict[str, str]:
    auth = base64.b64encode(login.encode()).decode()
    return {"DOCKER_AUTH_CONFIG": json.dumps({"auths": {host: {"auth": auth}}})}


def test_a_password(closed: Served, tmp_path: Path) -> None:
    digest = closed.pusher.push("t/private", "1", oci.image([LAYER]))
    wanted = named(closed.host, "t/private:1")
    with pytest.raises(Failure, match="to nobody without a login: it is private, or does not exist"):
        client().digest(wanted)
    with pytest.raises(Failure, match=r"does not show `.*` to `alice`, as `DOCKER_AUTH_CONFIG` has it") as raised:
        client(_docker(closed.host, f"{USER}:wrong-word")).digest(wanted)
    assert f"`docker login {closed.host}`" in str(raised.value.advice)
    assert client(_docker(closed.host, f"{USER}:{PASSWORD}")).digest(wanted) == digest
    # enroot's machines have no port, and its passwords may be variables.
    (tmp_path / ".credentials").write_text("# mine\nmachine 127.0.0.1 login alice password $SESAME\n")
    assert client({"ENROOT_CONFIG_PATH": str(tmp_path), "SESAME": PASSWORD}).digest(wanted) == digest
    # What `apptainer registry login` leaves.
    (tmp_path / "docker-config.json").write_text(_docker(closed.host, f"{USER}:{PASSWORD}")["DOCKER_AUTH_CONFIG"])
    assert client({"APPTAINER_CONFIGDIR": str(tmp_path)}).digest(wanted) == digest


def test_a_token_server_that_never_ends(front: Proxy, pushed: Mapping[str, Any]) -> None:
    front.bearer, front.token = True, b" " * (5 << 20)
    with pytest.raises(Failure, match="answers with a document of more than 4194304 bytes"):
        client().digest(named(front.host, "t/both:1"))
    front.token = b"<html>"
    with pytest.raises(Failure, match="answers 200 and no token"):
        client().digest(named(front.host, "t/both:1"))


@pytest.mark.parametrize("login", [None, (USER, PASSWORD)])
def test_tokens(front: Proxy, pushed: Mapping[str, Any], login: tuple[str, str] | None) -> None:
    front.bearer, front.login = True, login
    wanted = named(front.host, "t/both:1")
    found = client(_docker(front.host, ":".join(login)) if login else {})
    assert found.image(wanted, "x86_64").digest == pushed["both"]
    # One challenge, one token; the rest is asked with it.
    assert [path.partition("?")[0] for path in front.paths()].count("/token") == 1
    assert len(front.seen) == 6
    if login:
        with pytest.raises(Failure) as raised:
            client().digest(wanted)
        assert raised.value.kind == "denied"
