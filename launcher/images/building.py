"""What a built image is called, and what it says of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from launcher.images.reference import Reference, parse
from launcher.model.definition import Definition
from launcher.run.record import record

LABEL = "launcher.image"
"""Labels of ours begin so; the rest are those of the OCI image-spec 1.1, "Pre-Defined Annotation Keys"."""

_OCI = "org.opencontainers.image"
KEY = f"{LABEL}.key"
WHEELS = f"{LABEL}.wheels"
LOCAL = "localhost"
"""Registry in the name of what is in no registry, as podman has it."""


@record
class Upon:
    """The base that was used: `name` as it was asked for, `digest` what that named, empty where nobody knows."""

    name: str
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.name.partition('@')[0]}@{self.digest}" if self.digest else self.name


def version(definition: Definition) -> str:
    """Of the first program that the definition lists; empty where it lists none."""
    return next(iter(definition.programs.values()), "")


def tag(definition: Definition, key: str) -> str:
    """The tag where nobody says one: version and key, so that it never comes to mean something else."""
    found = version(definition)
    return f"{found}-{key[:12]}" if found else key[:12]


def labels(definition: Definition, key: str, upon: Upon, wheels: str = "") -> dict[str, str]:
    """Labels of the image: the same for the same definition, base, wheels (their digest) and architecture."""
    found = {
        f"{_OCI}.title": definition.name,
        f"{_OCI}.description": definition.file.description,
        f"{_OCI}.version": version(definition),
        f"{_OCI}.base.name": upon.name.partition("@")[0],
        f"{_OCI}.base.digest": upon.digest,
        f"{LABEL}.definition": definition.name,
        KEY: key,
        WHEELS: wheels,
    }
    return {name: value for name, value in found.items() if value}


def upon(labels: Mapping[str, str]) -> Upon:
    """The base of an image with these labels."""
    return Upon(labels.get(f"{_OCI}.base.name", ""), labels.get(f"{_OCI}.base.digest", ""))


def local(definition: Definition, tag: str) -> Reference:
    """What the image is called where it is in no registry."""
    return Reference(LOCAL, f"launch/{definition.name}", tag)


def goals(text: str, name: str, tags: Sequence[str]) -> list[Reference]:
    """Where the image `name` is pushed to: `text` is a reference with its tag, or what comes before `/NAME:TAG`.

    Raises ValueError with a phrase.
    """
    found = parse(f"{text}/{name}" if place(text) else text)
    if not isinstance(found, Reference):
        raise ValueError(f"`{text}` is no place in a registry")
    if found.digest:
        raise ValueError(f"`{text}` has a digest, which only the registry can give")
    return [replace(found, tag=each) for each in tags] if place(text) else [found]


def place(text: str) -> bool:
    """Whether a text names a registry or a namespace in one, no image: its last part has no tag."""
    rest = text.partition("://")[2] or text
    return "/" not in rest or not {":", "@"} & set(rest.rpartition("/")[2])


def given(definition: Definition, names: set[str], base: str, more: Mapping[str, str]) -> dict[str, str]:
    """The arguments that a builder is given: those that it takes."""
    every = {**definition.args, "BASE": base, **more}
    return {name: value for name, value in every.items() if name in names}
