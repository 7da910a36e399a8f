"""A project with images of its own, as somebody would have it who uses the files of `docs/ci`."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from launcher.images.oci import INDEXES
from tests.testbed import git, oci
from tests.testbed.registry import Served

ROOT = Path(__file__).parents[3]
SHELL = [oci.Entry("bin/sh", b"#", mode=0o755), oci.Entry("usr/bin/python3", b"#", mode=0o755)]
ROUTER = """\
schema = 1
description = "a router"
arch = ["x86_64", "aarch64"]
[base]
reference = "{open}/base/debian:12"
[[copy]]
from = "{open}/upstream/router:1"
source = "/router"
target = "/usr/bin/router"
"""
TOOLS = """\
schema = 1
description = "tools"
arch = ["x86_64"]
[base]
reference = "{open}/base/debian:12"
"""
CLUSTER = """\
schema = 1
name = "site"
runtime = "pyxis"
arch = "x86_64"
runs = "/tmp"
[images]
router = "{host}/team/images/router:main"
tools = "{host}/team/images/tools:main"
"""
ON_APPTAINER = """\
schema = 1
name = "other"
runtime = "apptainer"
arch = "x86_64"
runs = "/tmp"
[store]
path = "{store}"
[images]
router = "{host}/team/images/router:main"
tools = "{host}/team/images/tools:main"
gone = "{host}/team/images/gone:main"
"""
RECIPE = """\
schema = 1
name = "r"
[roles.worker]
manifest = "sim"
image = "tools"
"""


@dataclass(frozen=True)
class Project:
    """`origin` is the repository that a service has, `work` a clone of it, `served` the registry of its images; what
    they are made from is in one that is `open` to everybody.
    """

    origin: Path
    work: Path
    served: Served
    open: Served
    docker: str

    @property
    def place(self) -> str:
        """Where images go."""
        return f"{self.served.host}/team/images"

    def git(self, *words: str) -> str:
        """What git says in the clone."""
        return git.git(self.work, *words)

    def push(self, branch: str, **files: str) -> str:
        """Commits the files (`a__b` is `a/b`) on a branch and pushes it; returns the commit."""
        self.git("fetch", "--quiet", "origin")
        if branch != "main":
            self.git("checkout", "--quiet", "-B", branch, "origin/main")
        elif "origin/main" in self.git("branch", "--remotes"):
            self.git("checkout", "--quiet", "-B", "main", "origin/main")
        filled = {
            name: text.replace("{host}", self.served.host).replace("{open}", self.open.host)
            for name, text in files.items()
        }
        made = git.commit(self.work, **filled)
        self.git("push", "--quiet", "--force", "origin", branch)
        return made

    def tags(self, name: str) -> set[str]:
        """Of an image, in the registry."""
        url = f"http://{self.served.host}/v2/team/images/{name}/tags/list"
        return set(httpx.get(url, auth=self.served.login, trust_env=False).json().get("tags") or ())

    def names(self, name: str, tag: str) -> str:
        """The digest that a tag names."""
        url = f"http://{self.served.host}/v2/team/images/{name}/manifests/{tag}"
        headers = {"Accept": ", ".join(INDEXES)}
        answer = httpx.head(url, auth=self.served.login, headers=headers, trust_env=False)
        return str(answer.headers["docker-content-digest"])

    def environ(self, home: Path) -> Mapping[str, str]:
        """What a runner of a CI service has: git, Docker and the program."""
        home.mkdir(parents=True, exist_ok=True)
        path = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        return {
            **git.ENV,
            "PATH": path,
            "HOME": str(home),
            "TMPDIR": str(home),
            "DOCKER_HOST": self.docker,
            "LANG": "C.UTF-8",
        }


def project(folder: Path, served: Served, upstream: Served, docker: str) -> Project:
    """A new one: two definitions, a cluster and a recipe on `main`, and the files of both services."""
    images = [oci.image([SHELL], arch=arch, dialect="docker") for arch in ("amd64", "arm64")]
    upstream.pusher.push("base/debian", "12", *images, dialect="docker")
    routers = [oci.image([[oci.Entry("router", arch.encode(), mode=0o755)]], arch=arch) for arch in ("amd64", "arm64")]
    upstream.pusher.push("upstream/router", "1", *routers)
    made = Project(folder / "origin.git", folder / "work", served, upstream, docker)
    made.work.mkdir()
    made.git("init", "--quiet", "--bare", "--initial-branch", "main", str(made.origin))
    for name in ("uploadpack.allowAnySHA1InWant", "receive.advertisePushOptions"):
        made.git("-C", str(made.origin), "config", name, "true")
    made.git("clone", "--quiet", str(made.origin), ".")
    (made.work / ".github/workflows").mkdir(parents=True)
    shutil.copy(ROOT / "docs/ci/github.yml", made.work / ".github/workflows/images.yml")
    shutil.copy(ROOT / "docs/ci/gitlab-ci.yml", made.work / ".gitlab-ci.yml")
    files = {"images__router__image.toml": ROUTER, "images__tools__image.toml": TOOLS, "recipes__r.toml": RECIPE}
    files |= {"images__tools__Containerfile": "ARG BASE\nFROM ${BASE}\nCOPY tool /usr/bin/tool\n"}
    made.push("main", **files, images__tools__tool="1", **{"cluster.toml": CLUSTER})
    return made
