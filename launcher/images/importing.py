"""What `enroot import` is told, and what it means where it fails.

Facts, of enroot 3.5.0 and 4.1.2 (`src/docker.sh`, `src/common.sh`): it looks into its `.credentials` for the host
without its port to find a user, and curl for the host that gives tokens. A password that begins with `$` is put to a
shell. `ENROOT_SQUASH_OPTIONS` of the environment comes before that of `enroot.conf`. `SOURCE_DATE_EPOCH` would give
every file that time, by which Python takes all bytecode of the image for stale, so it is left out.
"""

import re
from collections.abc import Iterable, Mapping

from launcher.images.login import Login
from launcher.images.reference import HUB, Reference, address, fault, number

SQUASH: Mapping[str, str] = {
    "zstd": "-comp zstd -Xcompression-level 1",
    "lz4": "-comp lz4",
    "gzip": "-comp gzip -Xcompression-level 1",
    "lzo": "-comp lzo -Xalgorithm lzo1x_1",
    "xz": "-comp xz",
}
"""Compressor → options of `mksquashfs`; those first by which containers start quickest (`benchmarks/images.md`)."""

FILE = ".credentials"
"""The file in enroot's folder of configuration (`ENROOT_CONFIG_PATH`) that has its logins."""

_TOKENS: Mapping[str, tuple[str, ...]] = {HUB: ("auth.docker.io",), "nvcr.io": ("authn.nvidia.com",)}
_DIGESTS = (4,)
_PLAIN = re.compile(r"[^\s$\"][^\s]*")

# Its first request names no type, and docker-registry 2.8 then has no OCI manifests.
_HIDDEN = "some registries hide OCI images from enroot: leave `--with enroot` out"

_MEANINGS: tuple[tuple[str, str, str, str | None], ...] = (
    (r"error code: 40[13]", "denied", "is not allowed to have the image", "see the guide on images for logins"),
    (r"error code: 404", "absent", "finds no such image", _HIDDEN),
    (r"error code: 429", "limited", "has asked too often", "with a login, or from a mirror, more is allowed"),
    (r"error code: 5\d\d", "unreachable", "got no answer of use", "try again later"),
    (r"curl: \(\d+\)", "unreachable", "cannot reach the registry", "does it need a proxy there?"),
    (
        r"Checksum mismatch",
        "faulty",
        "was sent something else than a layer",
        "a proxy, or a broken registry",
    ),
    (r"No space left on device", "full", "has no room left", "`ENROOT_TEMP_PATH` and `ENROOT_CACHE_PATH` name folders"),
    (r"Command not found: (\S+)", "faulty", "wants a program that is not there", "install it, or leave `--with` out"),
    (r"(?:cannot|could not) create user namespace|unshare", "faulty", "may make no user namespaces", None),
)
"""Pattern of its words → kind of failure, what it means, what to do; the first that is found counts."""

_ASKED = "Authenticating with user: "


def spelt(wanted: Reference, manifest: str, version: str) -> str:
    """The image as `enroot import` of that version is told it: by its digest where it takes one.

    Raises ValueError with a phrase for a reference that it cannot be told.
    """
    wrong = fault(wanted, version)
    if wrong is not None:
        raise ValueError(wrong)
    user = f"{wanted.user}@" if wanted.user else ""
    which = f"@{manifest}" if pins(version) else wanted.version
    return f"docker://{user}{address(wanted.registry)}#{wanted.repository}{which}"


def pins(version: str) -> bool:
    """Whether that enroot takes digests."""
    return number(version) >= _DIGESTS


def words(image: str, arch: str, out: str) -> tuple[str, ...]:
    """The command."""
    return ("enroot", "import", "--arch", arch, "--output", out, image)


def credentials(wanted: Reference, tokens: str, found: Login) -> str:
    """The text of a `.credentials` with that login; `tokens` is the host that gives tokens, if any.

    Raises ValueError with a phrase for a login that it cannot hold.
    """
    if found.token:
        raise ValueError(f"{found.source} has a token, which enroot cannot show")
    if not _PLAIN.fullmatch(found.password) or not re.fullmatch(r"\S+", found.user):
        raise ValueError(f"the password in {found.source} has a blank, or begins with `$` or a quote")
    hosts = [address(wanted.registry), *_TOKENS.get(wanted.registry, ()), *([tokens] if tokens else [])]
    bare = dict.fromkeys(host.rpartition(":")[0] or host for host in hosts)
    return "".join(f"machine {host} login {found.user} password {found.password}\n" for host in bare)


def meaning(said: str) -> tuple[str, str, str | None]:
    """Kind of failure, what it means as a phrase that follows "enroot", and what to do."""
    lines = [line for line in said.splitlines() if line.strip()]
    for pattern, kind, means, advice in _MEANINGS:
        found = re.search(pattern, said, re.IGNORECASE)
        if found is not None:
            return kind, f"{means}: {_own(lines, found[0])}", advice
    if lines and _ASKED in lines[-1]:
        user = lines[-1].partition(_ASKED)[2]
        who = "anybody without a login" if user == "<anonymous>" else f"`{user}`"
        return "denied", f"is told that the registry does not know {who}", "see the guide on images for logins"
    return "faulty", f"failed: {_own(lines, '[ERROR]')}", None


def _own(lines: Iterable[str], mark: str) -> str:
    """The line with the mark, else the last one."""
    every = list(lines)
    line = next((each for each in every if mark in each), every[-1] if every else "it said nothing")
    return re.sub(r"^\[\w+\]\s*", "", line.strip())
