"""Which definitions of images a project has, and which of them changed since a revision."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from launcher.execute.folder import every, exists
from launcher.execute.git import Git
from launcher.execute.library import Files
from launcher.execute.told import Told
from launcher.execute.world import World
from launcher.images import building
from launcher.images.matrix import Job, Matrix
from launcher.model.definition import FILE, Definition, find, read
from launcher.model.linking import Linking
from launcher.text.diagnostic import Refused

FOLDER = "images"


def matrix(world: World, names: Sequence[str], revision: str | None, told: Told, directory: Path = Path()) -> Matrix:
    """Jobs for the named definitions, or for all of the project around `directory`; with a `revision` only for those
    that changed since. Definitions that are not the project's own are in no repository of ours: they always count.

    Raises Refused for names, definitions and revisions that are not there or wrong.
    """
    root = project(directory.absolute())
    files = Files(directory=root)
    own = _own(files, root)
    wanted = names or own
    if revision is None:
        return Matrix(tuple(_jobs(files, wanted)))
    git = Git(world, root)
    since = git.since(revision)
    if since.note:
        told(since.note)
    touched = git.changed(since, [FOLDER])
    changed = {path.split("/")[1] for path in touched if _counts(path)}
    gone = sorted({path.split("/")[1] for path in touched if _defines(path) and not exists(root / path)})
    listed = [name for name in wanted if name in changed or name not in own]
    return Matrix(tuple(_jobs(files, listed)), since.commit, tuple(gone))


def project(directory: Path) -> Path:
    """The folder with the project's `images/`: the nearest one that has definitions, else `directory`."""
    every = (directory, *directory.parents)
    return next((each for each in every if any(_definitions(each))), directory)


def _definitions(root: Path) -> Iterator[str]:
    return (name for name in every(root / FOLDER) if exists(root / FOLDER / name / FILE))


def _own(files: Files, root: Path) -> list[str]:
    return [name for name in _definitions(root) if files.definitions.path(name) == root / FOLDER / name]


def _jobs(files: Files, names: Iterable[str]) -> Iterator[Job]:
    linking = Linking(files)
    made = [definition for name in names if (definition := _read(linking, name)) is not None]
    if linking.findings:
        raise Refused(linking.findings)
    yield from (_job(each, arch) for each in made for arch in each.file.arch)


def _job(definition: Definition, arch: str) -> Job:
    key = definition.key(arch)
    return Job(definition.name, arch, key, building.tag(definition, key))


def _read(linking: Linking, name: str) -> Definition | None:
    folder = find(linking, name, None, command=True)
    return None if folder is None else read(linking, folder)


def _counts(path: str) -> bool:
    """Whether a file below `images/` is one of a definition's, as its key takes them."""
    parts = path.split("/")[1:]
    return len(parts) > 1 and not any(part.startswith(".") or part == "__pycache__" for part in parts)


def _defines(path: str) -> bool:
    return path.count("/") == 2 and path.endswith(f"/{FILE}")
