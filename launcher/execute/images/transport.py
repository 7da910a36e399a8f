"""Requests to registries: who asks is shown, redirects lose it, what fails for a moment is tried again."""

import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import httpx

from launcher.execute.images.failure import Failure
from launcher.execute.images.hosts import authorities, certificates, loopback, secured
from launcher.execute.images.logins import Logins
from launcher.execute.images.unanswered import denied, final, host_of, limited, unreachable
from launcher.execute.world import World
from launcher.images.challenge import Challenge, challenges
from launcher.images.login import Login, basic
from launcher.images.reference import Reference, address

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that another try may mend."""

REDIRECTS = 5
DOCUMENT = 4 << 20
"""Bytes of the largest manifest or configuration that is read; registries refuse larger ones (OCI distribution 1.1)."""


@dataclass(frozen=True)
class Limits:
    """Seconds. `longest` is what a server may ask for in `Retry-After` before it is told that we give up."""

    connect: float = 5.0
    read: float = 15.0
    whole: float = 45.0
    tries: int = 4
    pause: float = 0.5
    longest: float = 20.0


@dataclass(frozen=True)
class Answer:
    """A small answer, read whole."""

    status_code: int
    headers: httpx.Headers
    body: bytes = b""


A = TypeVar("A", Answer, httpx.Response)
Content = Callable[[], bytes | Iterator[bytes]] | None


@dataclass
class Transport:
    """One a command: connections are kept, tokens too. Safe to use from several threads."""

    world: World
    logins: Logins
    plain: frozenset[str] = frozenset()
    limits: Limits = Limits()
    actions: str = "pull"
    """What tokens are asked for: `pull,push` of one that pushes."""

    _clients: dict[str, httpx.Client] = field(default_factory=dict)
    _known: dict[str, Challenge] = field(default_factory=dict)
    _tokens: dict[tuple[str, str], str] = field(default_factory=dict)
    _secured: dict[str, bool] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def document(self, wanted: Reference, method: str, path: str, accept: str) -> Answer:
        """A small answer, read whole. Raises Failure."""

        def ask() -> Answer:
            answer = self._once(wanted, method, path, {"Accept": accept})
            try:
                return Answer(answer.status_code, answer.headers, self._body(answer))
            finally:
                answer.close()

        return self._tried(wanted, ask)

    @contextmanager
    def asked(self, wanted: Reference, method: str, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """An answer whose body is not read yet. Raises Failure, also while the body is read."""
        answer = self._tried(wanted, lambda: self._once(wanted, method, path, headers), lambda answer: answer.close())
        try:
            yield answer
        except httpx.HTTPError as error:
            raise unreachable(wanted, error) from error
        finally:
            answer.close()

    def given(
        self, wanted: Reference, method: str, path: str, headers: Mapping[str, str], content: Content = None
    ) -> Answer:
        """The answer to what is sent: `content` gives it anew for each try. Raises Failure."""

        def ask() -> Answer:
            answer = self._once(wanted, method, path, headers, content)
            try:
                return Answer(answer.status_code, answer.headers, self._body(answer))
            finally:
                answer.close()

        return self._tried(wanted, ask)

    def _tried(self, wanted: Reference, ask: Callable[[], A], drop: Callable[[A], None] = lambda answer: None) -> A:
        began = self.world.monotonic()
        for turn in range(self.limits.tries):
            last = turn == self.limits.tries - 1
            pause = self.limits.pause * 2**turn * (1 + random.random() / 4)  # noqa: S311
            try:
                answer = ask()
            except httpx.HTTPError as error:
                if last or final(error) or self.world.monotonic() - began > self.limits.whole:
                    raise unreachable(wanted, error) from error
            else:
                if answer.status_code not in AGAIN or last:
                    return answer
                said = answer.headers.get("retry-after", "")
                drop(answer)
                pause = max(pause, float(said)) if said.isdecimal() else pause
                if pause > self.limits.longest:
                    raise limited(wanted, answer)
            self.world.pause(pause)
        raise AssertionError("the last try returns or raises")

    def _once(
        self, wanted: Reference, method: str, path: str, headers: Mapping[str, str], content: Content = None
    ) -> httpx.Response:
        if self.world.environ.get("LAUNCH_OFFLINE", "") not in ("", "0"):
            raise Failure("offline", f"`{host_of(wanted)}` is not asked: `LAUNCH_OFFLINE` is set", "unset it")
        host = address(wanted.registry)
        root = f"{self.scheme(host)}://{host}"
        # Where an upload goes the registry says: perhaps elsewhere, which is shown no login.
        url = path if "://" in path else f"{root}{path}" if path.startswith("/") else f"{root}/v2/{path}"
        if not url.startswith(f"{root}/"):
            return self._sent(wanted, method, url, headers, content)
        known = self._known.get(host)
        own = self._authorization(wanted, known) if known else {}
        answer = self._sent(wanted, method, url, {**headers, **own}, content)
        if answer.status_code != 401:
            return answer
        offered = challenges(answer.headers.get_list("www-authenticate"))
        usable = next((one for kind in ("bearer", "basic") for one in offered if one.scheme == kind), None)
        if usable is None:
            return answer
        with self._lock:
            self._known[host] = usable
            self._tokens.pop((usable.realm, self._scope(wanted)), None)
        own = self._authorization(wanted, usable)
        if not own:
            return answer
        answer.close()
        return self._sent(wanted, method, url, {**headers, **own}, content)

    def _sent(
        self, wanted: Reference, method: str, url: str, headers: Mapping[str, str], content: Content = None
    ) -> httpx.Response:
        """The answer after redirects; httpx drops `Authorization` where the host changes."""
        client = self._client(url)
        request: httpx.Request | None = client.build_request(
            method, url, headers=dict(headers), content=content() if content else None
        )
        for _ in range(REDIRECTS + 1):
            if request is None:
                break
            if url.startswith("https:") and request.url.scheme != "https":
                raise Failure("faulty", f"`{host_of(wanted)}` sends on to `{request.url.host}` without TLS")
            answer = self._client(str(request.url)).send(request, stream=True)
            if answer.next_request is None:
                return answer
            request = answer.next_request
            answer.close()
        raise Failure("faulty", f"`{host_of(wanted)}` sends on from address to address without an end")

    def _authorization(self, wanted: Reference, challenge: Challenge) -> dict[str, str]:
        found = self.logins.login(wanted)
        if challenge.scheme == "basic":
            return {"Authorization": basic(found)} if found else {}
        with self._lock:
            key = challenge.realm, self._scope(wanted)
            if key not in self._tokens:
                self._tokens[key] = self._token(wanted, challenge, found)
            return {"Authorization": f"Bearer {self._tokens[key]}"}

    def _token(self, wanted: Reference, challenge: Challenge, found: Login | None) -> str:
        host = address(wanted.registry)
        if not challenge.realm.startswith("https:") and self.scheme(host) == "https":
            raise Failure("faulty", f"`{host_of(wanted)}` wants its tokens fetched without TLS")
        query = {"service": challenge.service, "scope": self._scope(wanted)}
        client = self._client(challenge.realm)
        if found and found.token:
            form = {**query, "grant_type": "refresh_token", "refresh_token": found.password, "client_id": "launch"}
            request = client.build_request("POST", challenge.realm, data=form)
        else:
            headers = {"Authorization": basic(found)} if found else {}
            request = client.build_request("GET", challenge.realm, params=query, headers=headers)
        answer = client.send(request, stream=True)
        try:
            body = self._body(answer)
        finally:
            answer.close()
        if answer.status_code in (400, 401, 403):
            raise self.denied(wanted)
        if answer.status_code in AGAIN:
            raise limited(wanted, answer)
        try:
            data = json.loads(body)
            return str(data.get("token") or data["access_token"])
        except (ValueError, KeyError, AttributeError):
            message = f"the token server of `{host_of(wanted)}` answers {answer.status_code} and no token"
            raise Failure("faulty", message) from None

    def _client(self, url: str) -> httpx.Client:
        """Clients without TLS, with it, and for hosts with certificates of their own: reading those takes as long as a
        small request.
        """
        scheme, _, rest = url.partition("://")
        host = rest.partition("/")[0]
        own = authorities(host, self.world.environ) if scheme == "https" else ()
        key = host if own else scheme
        with self._lock:
            if key not in self._clients:
                timeout = httpx.Timeout(self.limits.read, connect=self.limits.connect)
                # One that never speaks TLS needs no certificates.
                verify = certificates(self.world.environ, own) if scheme == "https" else False
                pool = httpx.Limits(max_connections=64, max_keepalive_connections=64)
                agent = {"User-Agent": "launch", "Accept-Encoding": "identity"}
                self._clients[key] = httpx.Client(timeout=timeout, limits=pool, headers=agent, verify=verify)
            return self._clients[key]

    def _body(self, answer: httpx.Response) -> bytes:
        began, parts, size = self.world.monotonic(), [], 0
        for part in answer.iter_raw():
            parts.append(part)
            size += len(part)
            if size > DOCUMENT:
                raise Failure("faulty", f"`{answer.url.host}` answers with a document of more than {DOCUMENT} bytes")
            if self.world.monotonic() - began > self.limits.whole:
                raise Failure("unreachable", f"`{answer.url.host}` sends too slowly")
        return b"".join(parts)

    def realm(self, wanted: Reference) -> str:
        """The address that gives tokens for the registry, as far as it has said so; empty where none does."""
        known = self._known.get(address(wanted.registry))
        return known.realm if known is not None and known.scheme == "bearer" else ""

    def _scope(self, wanted: Reference) -> str:
        return f"repository:{wanted.repository}:{self.actions}"

    def denied(self, wanted: Reference) -> Failure:
        """What is said of 401 and 403."""
        return denied(wanted, self.logins.login(wanted), self.logins.broken(wanted))

    def scheme(self, host: str) -> str:
        """`http` for registries that the cluster lists and those of this machine that speak no TLS, else `https`."""
        if host in self.plain:
            return "http"
        return "https" if not loopback(host) or self._speaks(host) else "http"

    def _speaks(self, host: str) -> bool:
        with self._lock:
            found = self._secured.get(host)
            if found is None and (found := secured(host)) is not None:
                self._secured[host] = found
            return bool(found)

    def close(self) -> None:
        """Closes all connections."""
        for client in self._clients.values():
            client.close()
