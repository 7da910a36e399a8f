"""What is said of a registry that does not give what it was asked for."""

import re
from typing import Protocol

import httpx

from launcher.execute.images.failure import Failure
from launcher.execute.images.logins import Broken
from launcher.images.login import Login
from launcher.images.reference import Reference, address

_PLAIN = "wrong_version_number"
_UNTRUSTED = re.compile(r"certificate verify failed: (.*?)(?: \(_ssl|$)")
"""What OpenSSL 3 says of a server without TLS, and of a certificate."""

_TRUST = (
    ("mismatch", "name it as the certificate does"),
    ("expired", "whoever runs it has to renew that"),
    ("", "its authority's goes into `~/.config/containers/certs.d/{host}/ca.crt`, or is named by `SSL_CERT_FILE`"),
)
"""What is wrong with a certificate → what to do about it."""


class Answered(Protocol):
    """An answer, its body aside."""

    @property
    def status_code(self) -> int:
        """Of HTTP."""

    @property
    def headers(self) -> httpx.Headers:
        """By their names."""


def host_of(wanted: Reference) -> str:
    """The registry's host, for messages."""
    return address(wanted.registry)


def denied(wanted: Reference, found: Login | None, broken: Broken | None = None) -> Failure:
    """401 and 403: which login was shown, and that it does not do. Docker Hub and ghcr.io say no more of an absence."""
    image = f"{wanted.registry}/{wanted.repository}"
    if found is not None:
        message = f"`{host_of(wanted)}` does not show `{image}` to `{found.user}`, as {found.source} has it"
        again = f"is the password right, and may the user see it? `docker login {host_of(wanted)}` asks for it anew"
        return Failure("denied", message, again)
    message = f"`{host_of(wanted)}` shows `{image}` to nobody without a login"
    if broken is not None:
        return Failure("denied", f"{message}, and {broken.phrase}", broken.advice)
    advice = "see the guide on registries for where logins are looked for"
    return Failure("denied", f"{message}: it is private, or does not exist", advice)


def limited(wanted: Reference, answer: Answered) -> Failure:
    """429 and what is like it."""
    if answer.status_code != 429:
        message = f"`{host_of(wanted)}` answers {answer.status_code} again and again"
        return Failure("unreachable", message, "try again later")
    said = answer.headers.get("retry-after", "")
    again = f"it says: in {said} s" if said.isdecimal() else "try again later"
    left = answer.headers.get("ratelimit-limit", "").partition(";")[0]
    limit = f" (its limit is {left})" if left else ""
    advice = f"{again}; with a login, or from a mirror, more is allowed"
    return Failure("limited", f"`{host_of(wanted)}` has been asked too often{limit}", advice)


def unreachable(wanted: Reference, error: httpx.HTTPError) -> Failure:
    """No answer, or one that broke off."""
    host = _asked(wanted, error)
    if isinstance(error, httpx.ConnectTimeout | httpx.ReadTimeout | httpx.PoolTimeout | httpx.WriteTimeout):
        return Failure("unreachable", f"`{host}` does not answer", "try again later")
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.DecodingError):
        return Failure("unreachable", f"`{host}` breaks its answer off", "try again later")
    reason = str(error).lower() or type(error).__name__
    if found := _UNTRUSTED.search(reason):
        advice = next(words for mark, words in _TRUST if mark in found[1])
        message = f"`{host}` shows a certificate that is not trusted here: {found[1]}"
        return Failure("unreachable", message, advice.format(host=host))
    listed = f'without TLS it is asked where `plain_http = ["{host}"]` of the cluster lists it'
    advice = listed if _PLAIN in reason else "does this machine reach it?"
    return Failure("unreachable", f"`{host}` cannot be reached: {reason}", advice)


def final(error: httpx.HTTPError) -> bool:
    """Whether another try would end as this one."""
    reason = str(error).lower()
    return _PLAIN in reason or _UNTRUSTED.search(reason) is not None


def _asked(wanted: Reference, error: httpx.HTTPError) -> str:
    """The host that was asked, which may be one that the registry sends on to, or its token server."""
    try:
        return error.request.url.netloc.decode("ascii")
    except RuntimeError:  # an error that knows no request
        return host_of(wanted)
