"""GitHub Actions without GitHub: runs the jobs of a workflow here, their scripts to the byte.

Facts (docs.github.com, "Workflow syntax"): a script runs by `bash --noprofile --norc -eo pipefail {0}` where the shell
is `bash`; a job is skipped where one that it needs did not succeed, unless its condition asks for the status itself;
an action that is used here is one of the three below, and nothing else is.
"""

import itertools
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.docs.services import expression
from tests.docs.services.expression import filled, said
from tests.testbed.git import git

_STATUS = re.compile(r"\b(?:always|failure|cancelled|success)\(\)")


@dataclass(frozen=True)
class Done:
    """A job that ran (or was skipped) with these values of its matrix; `log` is what its scripts wrote."""

    name: str
    result: str
    matrix: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    runner: str = ""


@dataclass
class Actions:
    """`origin` is the repository, `event` the `github` context; `environ` is what runners have, by architecture or not.

    `runners` are the labels of machines that are there.
    """

    file: Path
    origin: Path
    folder: Path
    event: Mapping[str, Any]
    environ: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, Path] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    _count: Iterator[int] = field(default_factory=itertools.count)

    def run(self) -> dict[str, list[Done]]:
        """Runs all jobs in the order of their needs; returns them by name."""
        self.workflow = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        jobs = dict(self.workflow["jobs"])
        finished: dict[str, list[Done]] = {}
        while jobs:
            name = next(each for each in jobs if set(_needs(jobs[each])) <= finished.keys())
            finished[name] = self._job(name, jobs.pop(name), finished)
        return finished

    def _job(self, name: str, job: Mapping[str, Any], finished: Mapping[str, list[Done]]) -> list[Done]:
        needed = {each: _summed(finished[each]) for each in _needs(job)}
        context = self._context({"needs": {each: vars(done) for each, done in needed.items()}})
        succeeded = all(done.result == "success" for done in needed.values())
        functions = _functions(good=succeeded)
        functions["failure"] = lambda: any(done.result == "failure" for done in needed.values())
        condition = str(job.get("if", "success()"))
        wanted = expression.github(condition.removeprefix("${{").removesuffix("}}"), context, functions)
        if not wanted or not (succeeded or _STATUS.search(condition)):
            return [Done(name, "skipped")]
        rows = _rows(job.get("strategy", {}).get("matrix", {}), context)
        return [self._once(name, job, {**context, "matrix": row}) for row in rows]

    def _context(self, more: Mapping[str, Any]) -> dict[str, Any]:
        return {"github": self.event, "secrets": self.secrets, "vars": self.variables, **more}

    def _once(self, name: str, job: Mapping[str, Any], context: dict[str, Any]) -> Done:
        place = self.folder / f"{next(self._count)}-{name}"
        (place / "temp").mkdir(parents=True)
        (place / "work").mkdir()
        label = filled(job["runs-on"], context, {})
        context = {**context, "runner": {"temp": str(place / "temp")}, "env": {}, "steps": {}}
        machine = Machine(self, place, {"RUNNER_TEMP": str(place / "temp"), "RUNNER_NAME": str(label)})
        env = {**self.workflow.get("env", {}), **job.get("env", {})}
        good = True
        for step in job["steps"]:
            own = {key: said(filled(value, context, {})) for key, value in {**env, **step.get("env", {})}.items()}
            context["env"] = own
            condition = str(step.get("if", "success()"))
            wanted = expression.github(condition, context, _functions(good=good))
            if wanted and (good or _STATUS.search(condition)):
                good = machine.step(step, own, context) and good
        outputs = {key: said(filled(value, context, {})) for key, value in job.get("outputs", {}).items()}
        made = Done(
            name,
            "success" if good else "failure",
            context.get("matrix", {}),
            outputs,
            "".join(machine.log),
            str(label),
        )
        self.done.append(made)
        return made


@dataclass
class Machine:
    """A runner, new for each job."""

    service: Actions
    place: Path
    environ: dict[str, str]
    log: list[str] = field(default_factory=list)

    def step(self, step: Mapping[str, Any], env: Mapping[str, str], context: dict[str, Any]) -> bool:
        """Whether a step went well."""
        if "uses" in step:
            given = {key: filled(value, context, {}) for key, value in step.get("with", {}).items()}
            name = step["uses"].partition("@")[0].replace("/", "_").replace("-", "_")
            getattr(self, name)(**{key.replace("-", "_"): value for key, value in given.items()})
            return True
        files = {key: self.place / "temp" / key for key in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH")}
        files["GITHUB_STEP_SUMMARY"] = self.place / "temp" / "summary"
        output = files["GITHUB_OUTPUT"]
        output.write_text("")
        for each in files.values():
            each.touch()
        script = self.place / "temp" / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        own = {name: str(path) for name, path in files.items()}
        whole = {**self.service.environ, "CI": "true", "GITHUB_ACTIONS": "true", **self.environ, **own, **env}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.place / "work",
            env=whole,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.log.append(f"== {step['name']}\n{done.stdout}{done.stderr}")
        self.environ.update(_pairs(files["GITHUB_ENV"].read_text()))
        for line in files["GITHUB_PATH"].read_text().splitlines():
            self.environ["PATH"] = f"{line}:{self.environ.get('PATH', self.service.environ['PATH'])}"
        context["steps"][step.get("id", "")] = {"outputs": _pairs(output.read_text())}
        return done.returncode == 0

    def actions_checkout(self, fetch_depth: int = 1, persist_credentials: bool = True, ref: str = "") -> None:
        """The commit of the event, of a clone that is as deep as it is told."""
        event = self.service.event
        depth = ["--depth", str(fetch_depth)] if fetch_depth else []
        work = self.place / "work"
        git(work, "init", "--quiet", "--initial-branch", "none")
        git(work, "remote", "add", "origin", f"file://{self.service.origin}")
        fetched = ["+refs/heads/*:refs/remotes/origin/*"] if not fetch_depth else []
        git(work, "fetch", "--quiet", "--no-tags", *depth, "origin", *fetched, ref or event["sha"])
        if ref:
            git(work, "checkout", "--quiet", "-B", ref, "FETCH_HEAD")
        else:
            git(work, "checkout", "--quiet", "--detach", event["sha"])

    def actions_upload_artifact(
        self, name: str, path: str, if_no_files_found: str = "warn", retention_days: int = 90
    ) -> None:
        """Files of the workspace, kept by name."""
        kept = self.service.folder / "artifacts" / name
        kept.mkdir(parents=True)
        work = self.place / "work"
        found = [each for line in path.split() for each in work.glob(line)]
        assert found or if_no_files_found != "error", f"no {path}"
        for each in found:
            # A single file, or all below a folder: without the part of the path that they share.
            if each.is_dir():
                shutil.copytree(each, kept, dirs_exist_ok=True)
            else:
                shutil.copy2(each, kept)
        self.service.artifacts[name] = kept

    def actions_download_artifact(
        self, path: str = "", name: str = "", pattern: str = "", merge_multiple: bool = False
    ) -> None:
        """The files of one artifact, or of those that a pattern fits, in one folder."""
        wanted = [name] if name else [each for each in self.service.artifacts if Path(each).match(pattern)]
        assert not pattern or merge_multiple
        for each in wanted:
            shutil.copytree(self.service.artifacts[each], self.place / "work" / path, dirs_exist_ok=True)


def _functions(*, good: bool) -> dict[str, Callable[[], bool]]:
    return {"always": lambda: True, "success": lambda: good, "failure": lambda: not good, "cancelled": lambda: False}


def _needs(job: Mapping[str, Any]) -> list[str]:
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else needs


def _summed(runs: Sequence[Done]) -> Done:
    """The runs of a matrix as one job."""
    results = [done.result for done in runs]
    worst = next((each for each in ("failure", "skipped") if each in results), "success")
    return Done(runs[0].name, worst, {}, runs[-1].outputs)


def _rows(matrix: Any, context: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = filled(matrix, context, {})
    if not found:
        return [{}]
    assert set(found) == {"include"}, "what our files use"
    assert found["include"], "GitHub refuses an empty matrix"
    return list(found["include"])


def _pairs(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
