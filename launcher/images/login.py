"""Credentials for registries, in the files people have: Docker's `config.json` and enroot's `.credentials`.

Facts: Docker keeps Docker Hub under `https://index.docker.io/v1/`, podman's `auth.json` may name a namespace
(`quay.io/team`); `auth` is base64 of `USER:PASSWORD`; `identitytoken` stands for a password at the token server, and a
credential helper says the same by the user name `<token>`. enroot's is a netrc whose passwords it lets a shell expand
(enroot 4.1.2, docker.sh); Docker Hub's machines there are `auth.docker.io` and `registry-1.docker.io`.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from launcher.images.reference import HUB
from launcher.run.record import record

_HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")
_HUB_MACHINES = ("auth.docker.io", "registry-1.docker.io", "docker.io")
_MACHINES = {HUB: _HUB_MACHINES, "nvcr.io": ("nvcr.io", "authn.nvidia.com")}
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
_MACROS = re.compile(r"^[ \t]*macdef\b.*?(?:\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

_PATHS = ("", "/", "/v1", "/v1/", "/v2", "/v2/")
"""What keys of old files have after the host, where Docker 20.10 looks at the host alone."""

TOKEN_USER = "<token>"  # noqa: S105  (the name that credential helpers give)


@record
class Login:
    """Who asks. `token` is an identity token, in the place of a password; `source` says where it was found."""

    user: str
    password: str
    source: str
    token: bool = False

    def __repr__(self) -> str:
        return f"Login({self.user!r}, …, {self.source!r})"


def basic(login: Login) -> str:
    """The value of an `Authorization` header."""
    return "Basic " + base64.b64encode(f"{login.user}:{login.password}".encode()).decode("ascii")


def written(logins: Mapping[str, Login]) -> dict[str, Any]:
    """A `config.json` that has these logins, by registry."""
    auths = {}
    for registry, each in logins.items():
        own = {"identitytoken": each.password} if each.token else {}
        user = TOKEN_USER if each.token else each.user
        auth = base64.b64encode(f"{user}:{'' if each.token else each.password}".encode()).decode("ascii")
        auths[_HUB_KEYS[0] if registry == HUB else registry] = {"auth": auth, **own}
    return {"auths": auths}


def docker(data: Mapping[str, Any], registry: str, repository: str, source: str) -> Login | None:
    """What a `config.json` or `auth.json` itself has for a registry; the longest namespace counts."""
    auths = data.get("auths")
    if not isinstance(auths, Mapping):
        return None
    for key in _keys(registry, repository):
        entry = auths.get(key)
        if isinstance(entry, Mapping) and (found := _entry(entry, source)) is not None:
            return found
    return None


def helper(data: Mapping[str, Any], registry: str) -> tuple[str, str] | None:
    """The credential helper that a `config.json` names for a registry, and what it is asked for."""
    helpers = data.get("credHelpers")
    names = _HUB_KEYS if registry == HUB else (registry,)
    for name in names:
        if isinstance(helpers, Mapping) and isinstance(helpers.get(name), str):
            return helpers[name], name
    store = data.get("credsStore")
    return (store, names[0]) if isinstance(store, str) and store else None


def netrc(text: str, registry: str, user: str | None, variables: Mapping[str, str], source: str) -> Login | None:
    """What enroot's `.credentials` has for a registry; with `user`, only an entry of that login.

    Raises ValueError with a phrase for a password that only a shell could tell.
    """
    wanted = _MACHINES.get(registry, (registry.partition(":")[0],))
    for machine, login, password in _machines(text):
        if machine in ("", *wanted) and (user is None or login == user):
            if password.startswith(("$(", "`")):
                raise ValueError(f"the password of `{machine}` in `{source}` is a command, which enroot alone runs")
            return Login(login, _expanded(password, variables), source)
    return None


def _keys(registry: str, repository: str) -> Iterator[str]:
    parts = f"{registry}/{repository}".split("/")
    for length in range(len(parts), 1, -1):
        yield "/".join(parts[:length])
    names = _HUB_KEYS if registry == HUB else (registry,)
    for name in names:
        yield from (name, *(f"{scheme}://{name}{path}" for scheme in ("https", "http") for path in _PATHS))


def _entry(entry: Mapping[str, Any], source: str) -> Login | None:
    user, password = str(entry.get("username") or ""), str(entry.get("password") or "")
    if isinstance(entry.get("auth"), str) and entry["auth"]:
        try:
            text = base64.b64decode("".join(entry["auth"].split()), validate=True).decode("utf-8").rstrip("\0")
        except (binascii.Error, ValueError):
            return None
        user, _, password = text.partition(":")
    token = entry.get("identitytoken")
    if isinstance(token, str) and token:
        return Login(user or TOKEN_USER, token, source, token=True)
    return Login(user, password, source) if user and password else None


def _machines(text: str) -> Iterator[tuple[str, str, str]]:
    """(machine, login, password) of each entry, as curl 7.84 and later read them; the machine of `default` is empty."""
    lines = _MACROS.sub("", text.replace("\r\n", "\n")).splitlines()
    read = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    words = iter([plain or re.sub(r"\\(.)", r"\1", quoted) for quoted, plain in _WORD.findall(read)])
    found: dict[str, str] = {}
    for word in words:
        if word in ("machine", "default"):
            found = {"machine": next(words, "") if word == "machine" else ""}
        elif word in ("login", "password", "account"):
            found[word] = next(words, "")
        if word == "password" and "machine" in found:
            yield found["machine"], found.get("login", ""), found[word]


def _expanded(password: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], ""), password)
