"""The lock of a project: what the image aliases of its clusters were when they were locked."""

from typing import Annotated, Literal

from pydantic import Field

from launcher.model.recipe import Table
from launcher.model.value import Name, Schema
from launcher.run.record import record
from launcher.text.diagnostic import Place
from launcher.text.document import Document

FILE = "launch.lock"

_DIGEST = r"^sha256:[0-9a-f]{64}$"
Digest = Annotated[str, Field(pattern=_DIGEST)]


class LockedImage(Table):
    """`[[image]]`: one alias of one cluster, for nodes of one architecture."""

    cluster: Name = Field(description="the cluster")
    alias: str = Field(min_length=1, description="name of the image in recipes")
    arch: Literal["x86_64", "aarch64"] = Field(description="of the nodes")
    reference: str = Field(min_length=1, description="what the alias meant")
    digest: Digest | None = Field(default=None, description="what the reference named: of an index, or a manifest")
    manifest: Digest | None = Field(default=None, description="digest of the manifest for this architecture")
    config: Digest | None = Field(default=None, description="digest of the image's configuration")
    size: Annotated[int, Field(ge=0)] = Field(description="bytes: what is downloaded, or the file")
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$", description="of the file")
    mtime: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="when the file was last written, in seconds since 1970"
    )
    entrypoint: list[str] = Field(default=[], description="what the image starts by itself")
    user: str = Field(default="", description="whom the image runs as by itself")
    workdir: str = Field(default="", description="folder the image starts in")
    env: dict[str, str] = Field(default={}, description="environment that the image brings")
    build: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None, description="key of what it was built from: the definition, its arguments, the architecture"
    )
    wheels: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None, description="digest of the wheels that pip was given for it, where it was given some"
    )
    base: str | None = Field(default=None, min_length=1, description="the image it was built upon, with its digest")
    programs: list[str] = Field(default=[], description="programs that were looked for and are there")
    versions: dict[str, str] = Field(default={}, description="Python packages that were looked for, and their versions")


class Lock(Table):
    """`launch.lock`, written by `launch images lock`."""

    schema_: Schema = Field(alias="schema", description="version of this format")
    image: list[LockedImage] = Field(default=[], description="one for each alias, cluster and architecture")


@record
class Locks:
    """A lock and the document it was read from; where it is to be written anew, `built` alone counts of it."""

    lock: Lock
    document: Document
    built: bool = False

    def find(self, cluster: str, alias: str, arch: str | None) -> tuple[LockedImage, Place] | None:
        """What was locked, and where it stands; where nobody says what the nodes are, the only one of the alias."""
        found = [
            (each, Place(self.document, ("image", index, "reference")))
            for index, each in enumerate(self.lock.image)
            if (each.cluster, each.alias) == (cluster, alias)
            and arch in (None, each.arch)
            and not (self.built and each.build is None)
        ]
        return found[0] if len(found) == 1 else None
