"""The steps of the files of `docs/ci`, run to the byte against a real registry and dockerd."""

import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.docs.services.actions import Actions, Done
from tests.docs.services.pipelines import Pipelines
from tests.docs.services.project import ON_APPTAINER, RECIPE, ROOT, Project, project
from tests.testbed import apptainer, daemon, registry
from tests.testbed.registry import PASSWORD, USER

GITHUB = ROOT / "docs/ci/github.yml"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose registry wants a password."""
    folder = tmp_path_factory.mktemp("ci")
    for name in ("closed", "open", "project"):
        (folder / name).mkdir()
    # The socket of a daemon has a short path.
    with (
        tempfile.TemporaryDirectory() as short,
        registry.registry(folder / "closed", password=True) as closed,
        registry.registry(folder / "open") as upstream,
        daemon.docker(Path(short)) as host,
    ):
        yield project(folder / "project", closed, upstream, host)


def github(one: Project, folder: Path, sha: str, **event: Any) -> tuple[Actions, dict[str, list[Done]]]:
    """A run of the workflow for an event."""
    service = workflow(one, folder, sha, **event)
    return service, service.run()


def workflow(one: Project, folder: Path, sha: str, **event: Any) -> Actions:
    """The same before it runs."""
    context = {
        "event_name": "push",
        "sha": sha,
        "ref": "refs/heads/main",
        "repository": "Team/Images",
        "actor": USER,
        "token": PASSWORD,
        "server_url": "https://github.example",
        "event": {},
        **event,
    }
    service = Actions(GITHUB, one.origin, folder, context, one.environ(folder / "home"))
    service.variables = {"LAUNCH_PLACE": f"{one.served.host}/Team/Images"}
    return service


def results(jobs: Mapping[str, list[Done]]) -> dict[str, str]:
    return {name: ", ".join(sorted({done.result for done in runs})) for name, runs in jobs.items()}


def logs(jobs: Mapping[str, list[Done]]) -> str:
    return "\n".join(f"==== {done.name}: {done.result}\n{done.log}" for runs in jobs.values() for done in runs)


def pull(number: int, base: str, repository: str = "Team/Images") -> dict[str, Any]:
    head = {"repo": {"full_name": repository}}
    request = {"number": number, "base": {"sha": base}, "head": head}
    return {"event_name": "pull_request", "event": {"pull_request": request}, "ref": f"refs/pull/{number}/merge"}


def test_github(one: Project, tmp_path: Path) -> None:
    """The first push of a project builds all of it, one that changes no image builds none."""
    service, jobs = github(one, tmp_path / "first", one.git("rev-parse", "origin/main"))
    assert set(results(jobs).values()) == {"success"}, logs(jobs)
    assert [(done.matrix["image"], done.matrix["arch"]) for done in jobs["build"]] == [
        ("router", "x86_64"),
        ("router", "aarch64"),
        ("tools", "x86_64"),
    ]
    assert len(one.tags("router")) == 3
    assert len(one.tags("tools")) == 2
    assert sorted(path.name.partition("-")[0] for path in service.artifacts["image-files"].glob("*.sqsh")) == [
        "router",
        "tools",
    ]
    one.git("fetch", "--quiet", "origin")
    locked = tomllib.loads(one.git("show", "origin/main:launch.lock"))["image"]
    assert {each["alias"]: each["digest"] for each in locked} == {
        name: one.names(name, "main") for name in ("router", "tools")
    }
    assert PASSWORD not in logs(jobs)

    main = one.push("main", README="2")
    _, jobs = github(one, tmp_path / "second", main)
    assert results(jobs)["build"] == "skipped"
    assert results(jobs)["lock"] == "success", logs(jobs)
    assert "launch.lock is as it was" in jobs["lock"][0].log


def settled(one: Project, folder: Path) -> str:
    """The tip of `main`, whose images are there."""
    one.git("fetch", "--quiet", "origin")
    if "main" not in one.tags("tools"):
        github(one, folder / "settled", one.git("rev-parse", "origin/main"))
        one.git("fetch", "--quiet", "origin")
    return one.git("rev-parse", "origin/main")


def test_github_pull_requests(one: Project, tmp_path: Path) -> None:
    """One of ours gets a channel of its own, one of a fork is built and checked, and writes nothing."""
    main = settled(one, tmp_path)
    before = one.names("tools", "main")
    sha = one.push("change", images__tools__tool="2")
    service, jobs = github(one, tmp_path / "third", sha, **pull(7, main))
    assert set(results(jobs).values()) == {"success"}, logs(jobs)
    assert [done.matrix["image"] for done in jobs["build"]] == ["tools"]
    assert one.names("tools", "main") == before != one.names("tools", "pr-7")
    locked = tomllib.loads((service.artifacts["launch.lock"] / "launch.lock").read_text())["image"]
    assert {each["reference"].rpartition(":")[2] for each in locked} == {"pr-7"}
    one.git("fetch", "--quiet", "origin")
    assert one.git("rev-parse", "origin/main") == main, "a pull request writes nothing there"

    tags = {name: one.tags(name) for name in ("router", "tools")}
    sha = one.push("stranger", images__router__extra="2")
    _, jobs = github(one, tmp_path / "fourth", sha, **pull(8, main, "stranger/images"))
    assert results(jobs) == {
        "plan": "success",
        "build": "success",
        "publish": "skipped",
        "check": "success",
        "convert": "skipped",
        "lock": "skipped",
    }, logs(jobs)
    assert [done.matrix["arch"] for done in jobs["build"]] == ["x86_64", "aarch64"]
    assert {name: one.tags(name) for name in tags} == tags


def test_github_stops_at_what_is_wrong(one: Project, tmp_path: Path) -> None:
    sha = one.push("wrong", **{"recipes__bad.toml": "schema = 1\nname = 'r'\n[role]\n"})
    _, jobs = github(one, tmp_path / "wrong", sha, **pull(9, one.git("rev-parse", "origin/main")))
    assert results(jobs)["check"] == "failure"
    assert "::error file=recipes/bad.toml" in jobs["check"][0].log
    assert (results(jobs)["convert"], results(jobs)["lock"]) == ("skipped", "skipped")


def test_github_with_a_runner_on_the_cluster(one: Project, tmp_path: Path) -> None:
    """Recipes are probed there, and files go to its store; what a stranger wrote does not."""
    site = ON_APPTAINER.replace("{store}", str(tmp_path / "store"))
    sha = one.push("cluster", images__tools__tool="5", **{"other.toml": site})
    service = workflow(one, tmp_path / "fine", sha, **pull(10, one.git("rev-parse", "origin/main")))
    service.variables |= {"LAUNCH_RUNNER_CLUSTER": "login", "LAUNCH_CLUSTER": "./other.toml"}
    service.environ = {**service.environ, "PATH": f"{apptainer.apptainer().parent}:{service.environ['PATH']}"}
    jobs = service.run()
    # The lock has every alias of the cluster, and one of them is nowhere.
    assert results(jobs) == {**dict.fromkeys(jobs, "success"), "lock": "failure"}, logs(jobs)
    assert "gone" in jobs["lock"][0].log
    assert {name: runs[0].runner for name, runs in jobs.items() if runs[0].runner == "login"}.keys() == {
        "check",
        "convert",
    }
    assert sorted(path.suffix for path in (tmp_path / "store").glob("[!.]*")) == [".json", ".json", ".sif", ".sif"]
    assert "image-files" not in service.artifacts

    recipe = RECIPE.replace('"tools"', '"gone"')
    sha = one.push("cluster", **{"other.toml": site, "recipes/gone.toml": recipe})
    base = one.git("rev-parse", "origin/main")
    service = workflow(one, tmp_path / "gone", sha, **pull(11, base))
    service.variables |= {"LAUNCH_RUNNER_CLUSTER": "login", "LAUNCH_CLUSTER": "./other.toml"}
    jobs = service.run()
    assert results(jobs)["check"] == "failure", "a probe asks the registry"
    assert "title=image-absent" in jobs["check"][0].log
    service = workflow(one, tmp_path / "stranger", sha, **pull(12, base, "stranger/images"))
    service.variables |= {"LAUNCH_RUNNER_CLUSTER": "login", "LAUNCH_CLUSTER": "./other.toml"}
    jobs = service.run()
    assert (jobs["check"][0].runner, jobs["check"][0].result) == ("ubuntu-24.04", "success"), logs(jobs)


def gitlab(one: Project, folder: Path, commit: str, **more: str) -> Pipelines:
    folder.mkdir()
    variables = {
        "CI_PIPELINE_SOURCE": "push",
        "CI_COMMIT_BRANCH": "main",
        "CI_DEFAULT_BRANCH": "main",
        "CI_COMMIT_REF_SLUG": "main",
        "CI_PROJECT_PATH": "team/images",
        "CI_REGISTRY": one.served.host,
        "CI_REGISTRY_IMAGE": one.place,
        "CI_REGISTRY_USER": USER,
        "CI_REGISTRY_PASSWORD": PASSWORD,
        "GITLAB_USER_NAME": "a",
        "GITLAB_USER_EMAIL": "a@example.invalid",
        "LAUNCH_COMMIT_LOCK": "true",
        "DOCKER_HOST": one.docker,
        "DOCKER_TLS_VERIFY": "",
        "DOCKER_CERT_PATH": "",
        **more,
    }
    return Pipelines(one.origin, folder, commit, one.environ(folder / "home"), variables)


def test_gitlab(one: Project, tmp_path: Path) -> None:
    """The same in GitLab: the default branch, a merge request, one of a fork."""
    main = one.push("main", images__tools__tool="3")
    service = gitlab(one, tmp_path / "first", main)
    assert service.run(), said(service)
    names = [ran.name for ran in service.ran]
    assert names == ["plan", "build", "publish", "check", "convert", "lock"]
    (build,) = (ran for ran in service.ran if ran.name == "build")
    assert (build.matrix["IMAGE"], build.tags) == ("tools", ["saas-linux-small-amd64"])
    one.git("fetch", "--quiet", "origin")
    locked = tomllib.loads(one.git("show", "origin/main:launch.lock"))["image"]
    assert one.names("tools", "main") in {each["digest"] for each in locked}
    assert PASSWORD not in said(service)

    main = one.git("rev-parse", "origin/main")
    sha = one.push("merge", images__router__extra="3")
    mine = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_COMMIT_BRANCH": "", "CI_MERGE_REQUEST_IID": "5"}
    mine |= {"CI_MERGE_REQUEST_DIFF_BASE_SHA": main, "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "team/images"}
    service = gitlab(one, tmp_path / "second", sha, **mine)
    assert service.run(), said(service)
    assert [ran.tags for ran in service.ran if ran.name == "build"] == [
        ["saas-linux-small-amd64"],
        ["saas-linux-small-arm64"],
    ]
    assert one.names("router", "pr-5") != one.names("router", "main")
    one.git("fetch", "--quiet", "origin")
    assert one.git("rev-parse", "origin/main") == main

    tags = one.tags("router")
    sha = one.push("strange", images__router__extra="4")
    service = gitlab(one, tmp_path / "third", sha, **{**mine, "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "x/images"})
    assert service.run(), said(service)
    assert [ran.name for ran in service.ran] == ["plan", "build", "build", "check"]
    assert one.tags("router") == tags


def test_gitlab_without_a_change(one: Project, tmp_path: Path) -> None:
    service = gitlab(one, tmp_path / "main", one.git("rev-parse", "origin/main"), LAUNCH_COMMIT_LOCK="")
    assert service.run(), said(service)
    assert [ran.name for ran in service.ran] == ["plan", "publish", "check", "convert", "lock"]


def said(service: Pipelines) -> str:
    return "\n".join(f"==== {ran.name}: {ran.good}\n{ran.log}" for ran in service.ran)
