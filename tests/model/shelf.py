"""A library on texts, and small documents to put in it."""

import errno
from collections.abc import Mapping, Sequence

from launcher.model.catalogue import Catalogue
from launcher.model.definition import FILE
from launcher.model.flag import Flag
from launcher.model.job import Job
from launcher.model.kin import Kin, Names
from launcher.model.library import Folder
from launcher.model.link import Request, link
from launcher.text import yaml
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.document import Document
from launcher.text.parse import parse

ENGINE = """
schema = 1
name = "engine"
about = "an engine"
kind = "engine"
image = "eng"
env = { LOG = "info", KEEP = "manifest" }
flags = { verbose = true, max-len = 1024 }
setup = "echo manifest"
[program]
name = "eng"
version = "1.0"
command = ["eng", "serve"]
"""

GATE = """
schema = 1
name = "gate"
about = "a router"
kind = "router"
image = "gate"
program.command = ["gate"]
"""

DIRECT = """
schema = 1
name = "direct"
about = "no router"
kind = "router"
"""

BOX = """
schema = 1
name = "box"
about = "a service"
kind = "service"
program.command = ["box"]
"""

LOCAL = 'schema = 1\nname = "local"\nscheduler = "local"\n'

SITE = """
schema = 1
name = "site"
runtime = "pyxis"
env = { KEEP = "site", SITE = "1" }
setup.inline = "ulimit -n 9"
[images]
eng = { reference = "docker.io/eng:2", versions = { eng = "2.0" } }
gate = "docker.io/gate:1"
box = "/images/box.sqsh"
[models]
tiny = "/models/tiny"
[[mounts]]
source = "/data"
target = "/data"
[[mounts]]
source = "/configs"
target = "/configs"
"""

RECIPE = """schema = 1
name = "small"

[roles.worker]
manifest = "engine"
"""


def catalogue(version: str) -> Catalogue:
    """Flags of `eng`: one with two names, one with a negative form."""
    flags = [
        Flag("--tensor-size", ("--tensor-size", "--tp"), kind="int"),
        Flag("--cache", ("--cache",), kind="bool", negatives=("--no-cache",)),
        Flag("--max-len", ("--max-len",), kind="int"),
    ]
    return Catalogue("eng", version, {flag.name: flag for flag in flags})


class Shelf:
    """Documents by name. `texts` are what `setup_file` finds: text, or the bytes of what is none."""

    def __init__(
        self,
        recipes: Mapping[str, str],
        *,
        manifests: Mapping[str, str] = {},
        clusters: Mapping[str, Sequence[str]] = {},
        texts: Mapping[str, str | bytes] = {},
        lock: str | None = None,
        images: Mapping[str, str] = {},
    ) -> None:
        self._images = images
        self._recipes = {name: parse(name, text) for name, text in recipes.items()}
        shipped = {"engine": ENGINE, "gate": GATE, "direct": DIRECT, "box": BOX, **manifests}
        self._manifests = {name: parse(f"manifests/{name}.toml", text) for name, text in shipped.items()}
        files = {"local": [LOCAL], "site": [SITE], **clusters}
        self._clusters = {
            name: [parse(f"{index}/{name}.toml", text) for index, text in enumerate(layers)]
            for name, layers in files.items()
        }
        self._texts = texts
        self._lock = lock

    def recipe(self, name: str, beside: Document | None = None) -> Document:
        if name not in self._recipes:
            raise Refused([Diagnostic("file-absent", f"`{name}` does not exist", None, exit=2)])
        return self._recipes[name]

    def manifest(self, name: str) -> Document | None:
        return self._manifests.get(name)

    def manifests(self) -> Sequence[str]:
        return sorted(self._manifests)

    def cluster(self, name: str) -> Sequence[Document]:
        return self._clusters.get(name, [])

    def clusters(self) -> Sequence[str]:
        return sorted(self._clusters)

    def image(self, name: str) -> Folder | None:
        found = self._images.get(name)
        return Folder(name, parse(f"images/{name}/image.toml", found), ((FILE, found),)) if found else None

    def images(self) -> Sequence[str]:
        return sorted(self._images)

    def catalogue(self, program: str, version: str) -> Catalogue | None:
        return catalogue(version) if (program, version) in (("eng", "1.0"), ("eng", "2.0")) else None

    def versions(self, program: str) -> Sequence[str]:
        return ["1.0", "2.0"] if program == "eng" else []

    def names(self) -> Names:
        return Names(repositories={"docker.io/vllm/engine": "eng", "nvcr.io/nvidia/many": ["other", "eng"]})

    def kin(self, program: str, version: str) -> Kin:
        return Kin()

    def lock(self) -> Document | None:
        return None if self._lock is None else parse("launch.lock", self._lock)

    def lock_option(self) -> str:
        return ""

    def text(self, path: str, beside: Document) -> str:
        found = self._texts.get(f"{beside.name}/{path}", self._texts.get(path))
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return found if isinstance(found, str) else found.decode()

    def configuration(self, path: str, beside: Document) -> Document:
        return yaml.parse(path, self.text(path, beside))


def linked(recipe: str, *, cluster: str = "local", sets: Sequence[str] = (), unsets: Sequence[str] = ()) -> Job:
    """The job of a recipe's text."""
    return link(Shelf({"r.toml": recipe}), Request("r.toml", cluster, tuple(sets), tuple(unsets)))


def refused(shelf: Shelf, request: Request) -> list[str]:
    """What a link is refused with: `code document:line:column message`, in the order found."""
    try:
        link(shelf, request)
    except Refused as error:
        return [written(finding) for finding in error.diagnostics]
    return []


def written(finding: Diagnostic) -> str:
    """A finding on one line."""
    place = finding.place
    where = ""
    if place is not None:
        line, column = place.document.line_column(place.span().start)
        where = f" {place.document.name}:{line}:{column}"
    return f"{finding.code}{where} {finding.message}"
