"""Answers to the questions of audits about images: what registries and files have. One registry client a command."""

import json
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from launcher.execute.images import compute
from launcher.execute.images.failure import Failure
from launcher.execute.images.inspect import inspect
from launcher.execute.images.logins import Logins
from launcher.execute.images.registry import Registry, Remote
from launcher.execute.images.transport import Transport
from launcher.execute.images.unpack import archive, forget
from launcher.execute.world import Real
from launcher.images import look
from launcher.images.look import Member
from launcher.images.reference import Reference, parse
from launcher.model.facts import Answer, Header, Image, Tag
from launcher.run import files

SMALL = 64 << 20
"""Bytes of an image that is looked into where nothing else tells whether it has a shell."""

_UNPACKED = 2 << 30
_LISTS = "lists"


@cache
def registry(plain: frozenset[str]) -> Registry:
    """The client of this process."""
    world = Real()
    return Registry(Transport(world, Logins(world.environ), plain), _cache(world))


def answer(question: Tag | Header) -> Answer:
    """What is known of an image, or why nothing is."""
    try:
        if isinstance(question, Header) and question.compute is not None:
            image = compute.look(Real(), question.path, question.compute)
            return Answer(yes=True, where=compute.WHERE, image=image)
        if isinstance(question, Header):
            image = inspect(Real(), Path(question.path), question.programs, question.packages)
            return Answer(yes=True, where="this machine", image=image)
        return Answer(yes=True, where="its registry", image=tag(question))
    except Failure as failure:
        return Answer(yes=False, text=failure.message, fault=failure.kind, advice=failure.advice)


def tag(question: Tag) -> Image:
    """What a registry has. Raises Failure."""
    wanted = parse(question.reference)
    if not isinstance(wanted, Reference):
        raise Failure("faulty", f"`{question.reference}` is no image of a registry")
    asked = registry(frozenset({wanted.registry}) if question.plain else frozenset())
    found = asked.image(wanted, question.arch)
    config = found.config
    made = Image(
        found.manifest.size,
        digest=found.digest,
        manifest=found.manifest.digest,
        config=found.manifest.config.digest,
        arch=config.arch,
        env=config.env,
        entrypoint=config.entrypoint,
        workdir=config.workdir,
        user=config.user,
        shell=True if _ran(config.commands) else None,
    )
    if made.shell or found.manifest.size > SMALL:
        return made
    members = _members(asked, wanted, found)
    there = look.programs(members, (*question.programs, look.SHELL))
    return Image(
        **{
            **{name: getattr(made, name) for name in made.__dataclass_fields__},
            "programs": tuple(name for name in there if name in question.programs),
            "shell": look.SHELL in there,
            "versions": look.versions(members, question.packages),
        }
    )


def _ran(commands: Sequence[str]) -> bool:
    """Whether some layer was made by a shell inside the image: then it has one."""
    return any(("/bin/sh -c" in each and "#(nop)" not in each) or each.startswith("RUN ") for each in commands)


def _members(asked: Registry, wanted: Reference, found: Remote) -> list[Member]:
    """All programs and Python packages of an image, from its layers; remembered by the image's digest."""
    folder = asked.cache / _LISTS if asked.cache else None
    path = folder / found.manifest.digest.removeprefix("sha256:") if folder else None
    try:
        kept = json.loads(path.read_bytes()) if path else None
        if isinstance(kept, list):
            return [Member(*each) for each in kept]
    except (OSError, ValueError, TypeError):
        pass  # it is made anew
    members = list(_walked(asked, wanted, found))
    if path is not None:
        try:
            rows = [(each.path, each.kind, each.executable, each.size) for each in members]
            files.write(str(path), json.dumps(rows).encode("utf-8", "surrogateescape"))
        except OSError:
            return members
    return members


def _walked(asked: Registry, wanted: Reference, found: Remote) -> Iterator[Member]:
    for layer in found.manifest.layers:
        with (
            asked.blob(wanted, layer.digest) as pieces,
            closing(archive(pieces, layer.compression, _UNPACKED)) as members,
        ):
            for each in members:
                forget(members)
                member = _member(each)
                if member is not None:
                    yield member


def _member(each: tarfile.TarInfo) -> Member | None:
    path = each.name.lstrip("./")
    kind = "l" if each.issym() or each.islnk() else "-" if each.isreg() else ""
    if not kind or not (path.endswith(".dist-info/METADATA") or bool(each.mode & 0o111)):
        return None
    return Member(path, kind, bool(each.mode & 0o111), each.size)


def _cache(world: Real) -> Path | None:
    home, own = world.environ.get("HOME", ""), world.environ.get("XDG_CACHE_HOME", "")
    if own.startswith("/"):
        return Path(own) / "launch" / "registry"
    return Path(home) / ".cache" / "launch" / "registry" if home.startswith("/") else None
