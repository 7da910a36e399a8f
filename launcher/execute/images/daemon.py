"""Docker, and what speaks as it does: found by its socket, told to build, to push and to give.

Facts, seen with Docker 20.10.24 and podman 4.3.1 (`podman system service`): both build by Docker's API of classic
builders, which know neither `RUN --mount` nor here-documents; podman says no digest in `aux` of a push, and keeps
another one than it pushes in `RepoDigests`, so the registry is asked. `localhost/NAME` is a name that both leave as it
is.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import docker
import requests
from docker.context import ContextAPI
from docker.errors import APIError, DockerException
from urllib3.exceptions import HTTPError

from launcher.execute.images.failure import Failure
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images import oci
from launcher.images.containerfile import step
from launcher.images.login import Login
from launcher.images.reference import Reference

_BREAKS = (DockerException, requests.RequestException, HTTPError, HTTPException, ConnectionError)
"""What its client raises where a daemon refuses or breaks off; answers in pieces come from below `requests`."""

_SECONDS = 6 * 3600
_LOOK = 10
_LAST = 12


@dataclass(frozen=True)
class Order:
    """What is to be built: `context` is a tar archive with a `Containerfile`; `name` what it is called here."""

    context: Path
    name: str
    args: Mapping[str, str]
    labels: Mapping[str, str]
    arch: str
    network: str | None = None
    fresh: bool = False


class BuildFailed(Failure):
    """A step failed: which one, as the builder said it, and the last lines before it."""

    def __init__(self, message: str, words: str | None, lines: tuple[str, ...]) -> None:
        super().__init__("faulty", message)
        self.words, self.lines = words, lines


@dataclass(frozen=True)
class Daemon:
    """One that answers. `name` is what it says it is, `where` its socket."""

    api: Any
    name: str
    where: str
    arch: str

    def pull(self, wanted: Reference, login: Login | None) -> None:
        """Has the daemon fetch an image. Raises Failure."""
        name = f"{wanted.registry}/{wanted.repository}"
        version = wanted.digest or wanted.tag
        self._followed(lambda: self.api.pull(name, version, stream=True, decode=True, auth_config=_auth(login)))

    def build(self, order: Order, told: Told) -> None:
        """Builds; every line of the builder is `told`. Raises BuildFailed and Failure."""
        platform = None if order.arch == self.arch else f"linux/{oci.goarch(order.arch)}"
        said, words = list[str](), None
        with order.context.open("rb") as context:
            events = self.pieces(
                lambda: self.api.build(
                    fileobj=context,
                    custom_context=True,
                    dockerfile="Containerfile",
                    tag=order.name,
                    buildargs=dict(order.args),
                    labels=dict(order.labels),
                    network_mode=order.network,
                    platform=platform,
                    nocache=order.fresh,
                    rm=True,
                    forcerm=True,
                    decode=True,
                )
            )
            for event in events:
                for line in str(event.get("stream", "")).splitlines():
                    words = step(line) or words
                    said += [line] if line.strip() else []
                    told(line)
                if "error" in event:
                    raise BuildFailed(_line(event["error"]), words, tuple(said[-_LAST:]))
        found = oci.architecture(self.asked(lambda: self.api.inspect_image(order.name))["Architecture"])
        if found != order.arch:
            raise Failure("platform", f"{self.name} built for {found}, and {order.arch} is wanted")

    def push(self, name: str, goal: Reference, login: Login | None, told: Told) -> None:
        """Pushes the image under the tag of `goal`. Raises Failure."""
        repository = f"{goal.registry}/{goal.repository}"
        self.asked(lambda: self.api.tag(name, repository, goal.tag))
        self._followed(
            lambda: self.api.push(repository, goal.tag, stream=True, decode=True, auth_config=_auth(login)), told
        )

    def save(self, name: str, out: Path) -> None:
        """The image as `docker save` has it. Raises Failure and OSError."""
        with out.open("wb") as file:
            for piece in self.pieces(lambda: self.api.get_image(name)):
                file.write(piece)

    def _followed(self, begin: Callable[[], Iterator[Mapping[str, Any]]], told: Told = unheard) -> None:
        for event in self.pieces(begin):
            if "error" in event:
                raise _refused(self.name, _line(event["error"]))
            told(f"{event.get('status', '')} {event.get('id', '')}".strip())

    def pieces(self, begin: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """What the daemon answers bit by bit. Raises Failure."""
        try:
            yield from begin()
        except _BREAKS as error:
            raise _broken(self.name, error) from error

    def asked(self, call: Callable[[], Any]) -> Any:
        """What the daemon answers. Raises Failure."""
        try:
            return call()
        except _BREAKS as error:
            raise _broken(self.name, error) from error

    def close(self) -> None:
        """Closes the connection."""
        self.api.close()


def connect(world: World) -> Daemon:
    """The first that answers, of those the environment names and of the usual sockets. Raises Failure."""
    tried = []
    for where, settings in _places(world):
        try:
            api = docker.APIClient(version="auto", timeout=_LOOK, **settings)
        except (DockerException, requests.RequestException, ValueError) as error:
            tried.append(f"{where} ({_reason(error)})")
            continue
        api.timeout = _SECONDS
        said = api.version()
        name = next(
            (each["Name"] for each in said.get("Components") or () if "Podman" in each.get("Name", "")), "Docker"
        )
        return Daemon(api, f"{name.removesuffix(' Engine')} {said['Version']}", where, oci.architecture(said["Arch"]))
    advice = "start Docker or `podman system service`, or say `DOCKER_HOST`"
    raise Failure("absent", f"nothing answers as Docker does: {', '.join(tried) or 'there is no socket'}", advice)


def _places(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """Sockets, and the settings of their clients; one that is named is the only one."""
    environ = world.environ
    if environ.get("DOCKER_HOST"):
        settings = docker.utils.kwargs_from_env(environment=dict(environ))
        yield environ["DOCKER_HOST"], settings
        return
    if environ.get("CONTAINER_HOST"):
        yield environ["CONTAINER_HOST"], {"base_url": environ["CONTAINER_HOST"]}
        return
    context = ContextAPI.get_current_context()
    if context is not None and context.Name != "default":
        yield context.Host, {"base_url": context.Host, "tls": context.TLSConfig}
        return
    own = environ.get("XDG_RUNTIME_DIR")
    for path in (
        "/var/run/docker.sock",
        *((f"{own}/docker.sock", f"{own}/podman/podman.sock") if own else ()),
        "/run/podman/podman.sock",
    ):
        if Path(path).exists():
            yield f"unix://{path}", {"base_url": f"unix://{path}"}


def _auth(login: Login | None) -> dict[str, str] | None:
    if login is None:
        return None
    if login.token:
        return {"identitytoken": login.password}
    return {"username": login.user, "password": login.password}


def _refused(name: str, text: str) -> Failure:
    if "unauthorized" in text.lower() or "denied" in text.lower() or "authentication required" in text.lower():
        return Failure("denied", f"{name}: {text}", "see the guide on images for where logins are looked for")
    if "server gave HTTP response to HTTPS client" in text:
        return Failure("faulty", f"{name}: {text}", "its `insecure-registries` has to name a registry without TLS")
    return Failure("faulty", f"{name}: {text}")


def _broken(name: str, error: Exception) -> Failure:
    if isinstance(error, APIError):
        return _refused(name, _line(error.explanation or str(error)))
    return Failure("unreachable", f"{name} breaks off: {_reason(error)}", "does it still run?")


def _reason(error: Exception) -> str:
    text = str(error)
    for phrase in ("Permission denied", "No such file or directory", "Connection refused"):
        if phrase in text:
            return phrase.lower()
    return _line(text)[:200]


def _line(text: Any) -> str:
    return " ".join(str(text).split())
