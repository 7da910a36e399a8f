"""Images by architectures as jobs of a CI service, in the words of each service.

Facts: GitHub refuses a matrix without an entry, and one of more than 256 (the job's condition looks at the number
first); GitLab's `parallel:matrix` takes 200 at most, and a child pipeline merges the files it is made of, a later one
over those before it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from launcher.run.record import record

FORMATS = ("json", "github", "gitlab", "names")

_PLATFORMS = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}


@record
class Job:
    """One image for one architecture. `key` says what it is made from: equal keys, equal images; `tag` begins it."""

    image: str
    arch: str
    key: str
    tag: str

    @property
    def platform(self) -> str:
        """The architecture as OCI writes it."""
        return _PLATFORMS[self.arch]


@record
class Matrix:
    """`since` is the commit that was compared with, empty where all images are listed; `removed` are gone since."""

    jobs: Sequence[Job]
    since: str = ""
    removed: Sequence[str] = ()


def written(matrix: Matrix, form: str) -> str:
    """The document of a service, one line or several for people; or the images' names, a line each, for shells."""
    if form == "names":
        return "\n".join(dict.fromkeys(job.image for job in matrix.jobs))
    document = _WRITERS[form](matrix)
    return json.dumps(document, indent=2) if form == "json" else json.dumps(document, separators=(",", ":"))


def _json(matrix: Matrix) -> Mapping[str, Any]:
    return {
        "schema": 1,
        "since": matrix.since or None,
        "images": [_job(each) for each in matrix.jobs],
        "removed": list(matrix.removed),
    }


def _github(matrix: Matrix) -> Mapping[str, Any]:
    """What `strategy.matrix: ${{ fromJSON(…) }}` takes."""
    return {"include": [_job(each) for each in matrix.jobs]}


def _gitlab(matrix: Matrix) -> Mapping[str, Any]:
    """A file of a child pipeline, above the one that says what the job `build` does."""
    if not matrix.jobs:
        return {"build": {"rules": [{"when": "never"}]}}
    rows = [{name.upper(): value for name, value in _job(each).items()} for each in matrix.jobs]
    for row in rows:
        # Tags of runners are of Go's words, without a slash.
        row["GOARCH"] = row["PLATFORM"].rpartition("/")[2]
    return {"build": {"parallel": {"matrix": rows}}}


def _job(job: Job) -> dict[str, str]:
    return {"image": job.image, "arch": job.arch, "platform": job.platform, "key": job.key, "tag": job.tag}


_WRITERS: Mapping[str, Callable[[Matrix], Mapping[str, Any]]] = {"json": _json, "github": _github, "gitlab": _gitlab}
