"""GitLab CI without GitLab: runs the jobs of a pipeline and of its child pipelines here, their scripts to the byte.

Facts (docs.gitlab.com, "CI/CD YAML syntax reference"): a job runs where the first rule that holds lets it, and not
where none holds; `extends` and files of a child pipeline are merged table by table, the later one above; what
`before_script` and `script` hold is one shell's, which ends at the first line that fails; artifacts of earlier stages
are laid out for a job; `parallel:matrix` sets variables. In a child pipeline `CI_PIPELINE_SOURCE` is `parent_pipeline`.
"""

import itertools
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.docs.services.expression import gitlab

KEYWORDS = frozenset({"stages", "workflow", "default", "variables", "include"})


@dataclass(frozen=True)
class Ran:
    """A job that ran, with the variables of its matrix; `log` is what it wrote."""

    name: str
    good: bool
    matrix: Mapping[str, str]
    tags: Sequence[str]
    log: str


@dataclass
class Pipelines:
    """`origin` is the repository; `variables` are those of GitLab and of the project, `environ` is the runner's."""

    origin: Path
    folder: Path
    commit: str
    environ: Mapping[str, str]
    variables: Mapping[str, str]
    ran: list[Ran] = field(default_factory=list)
    _count: Iterator[int] = field(default_factory=itertools.count)

    def run(self, file: str = ".gitlab-ci.yml") -> bool:
        """Runs the pipeline of the repository; whether it passed."""
        work = self._clone("pipeline", {})
        return self._pipeline([yaml.safe_load((work / file).read_text())], self.variables)

    def _pipeline(self, files: Sequence[Mapping[str, Any]], variables: Mapping[str, str]) -> bool:
        whole: dict[str, Any] = {}
        for each in files:
            whole = _merged(whole, each)
        known = {**_texts(whole.get("variables", {})), **variables}
        if not _ruled(whole.get("workflow", {}), known):
            return True
        jobs = {name: _extended(whole, name) for name in whole if name not in KEYWORDS and name[0] != "."}
        wanted = {name: job for name, job in jobs.items() if _ruled(job, known)}
        assert wanted, "GitLab refuses a pipeline without jobs"
        artifacts: dict[str, list[Path]] = {}
        for stage in whole["stages"]:
            every = [name for name, job in wanted.items() if job.get("stage", "test") == stage]
            good = [self._job(name, wanted[name], {**whole, "known": known}, artifacts) for name in every]
            if not all(good):
                return False
        return True

    def _job(
        self, name: str, job: Mapping[str, Any], whole: Mapping[str, Any], artifacts: dict[str, list[Path]]
    ) -> bool:
        if "trigger" in job:
            return self._child(job["trigger"], whole["known"], artifacts)
        rows = list(_rows(job.get("parallel", {}).get("matrix", [{}])))
        # All of a matrix run, whatever becomes of one.
        good = [self._once(name, {**job, "row": row}, whole, artifacts) for row in rows]
        return all(good)

    def _child(
        self, trigger: Mapping[str, Any], variables: Mapping[str, str], artifacts: Mapping[str, list[Path]]
    ) -> bool:
        assert trigger["strategy"] == "depend"
        work = self._clone("child", artifacts)
        files = [yaml.safe_load((work / _file(each)).read_text()) for each in trigger["include"]]
        assert len(files) <= 3
        return self._pipeline(files, {**variables, "CI_PIPELINE_SOURCE": "parent_pipeline"})

    def _once(
        self, name: str, job: Mapping[str, Any], whole: Mapping[str, Any], artifacts: dict[str, list[Path]]
    ) -> bool:
        work = self._clone(name, artifacts)
        default = whole.get("default", {})
        # Variables of the project are above those of the file.
        own = {**whole["known"], **_texts(job.get("variables", {})), **job["row"], **self.variables}
        lines = [*job.get("before_script", default.get("before_script", [])), *job["script"]]
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(lines)],
            cwd=work,
            env={**self.environ, "CI": "true", "GITLAB_CI": "true", "CI_PROJECT_DIR": str(work), **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        kept = self.folder / f"{work.name}-artifacts"
        for pattern in job.get("artifacts", {}).get("paths", []):
            for found in work.glob(pattern):
                copy = kept / found.relative_to(work)
                copy.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if found.is_dir() else shutil.copy2)(found, copy)
        artifacts.setdefault(name, []).append(kept)
        tags = [_expanded(tag, own) for tag in job.get("tags", default.get("tags", []))]
        self.ran.append(Ran(name, done.returncode == 0, job["row"], tags, done.stdout + done.stderr))
        return done.returncode == 0

    def _clone(self, name: str, artifacts: Mapping[str, list[Path]]) -> Path:
        work = self.folder / f"{next(self._count)}-{name}"
        depth = self.variables.get("GIT_DEPTH", "20")
        words = ["git", "clone", "--quiet", "--no-checkout"]
        env = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        deep = ["--depth", depth, "--no-single-branch"] if depth != "0" else []
        subprocess.run([*words, *deep, f"file://{self.origin}", str(work)], env=env, check=True, capture_output=True)
        words = ["git", "-C", str(work), "checkout", "--quiet", "--detach", self.commit]
        subprocess.run(words, env=env, check=True, capture_output=True)
        for kept in (each for every in artifacts.values() for each in every if each.is_dir()):
            shutil.copytree(kept, work, dirs_exist_ok=True)
        return work


def _file(include: Mapping[str, str]) -> str:
    return (include.get("local") or include["artifact"]).lstrip("/")


def _rows(matrix: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    for each in matrix:
        values = [value if isinstance(value, list) else [value] for value in each.values()]
        yield from (dict(zip(each, row, strict=True)) for row in itertools.product(*values))


def _ruled(job: Mapping[str, Any], variables: Mapping[str, str]) -> bool:
    """Whether the rules of a job, or of a whole pipeline, let it run."""
    if "rules" not in job:
        return True
    held = (rule for rule in job["rules"] if "if" not in rule or gitlab(rule["if"], variables))
    found = next(held, None)
    return found is not None and found.get("when", "on_success") != "never"


def _extended(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    job = whole[name]
    bases = job.get("extends", [])
    made: dict[str, Any] = {}
    for base in [bases] if isinstance(bases, str) else bases:
        made = _merged(made, _extended(whole, base))
    return _merged(made, job)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(below)
    for key, value in above.items():
        old = made.get(key)
        made[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return made


def _texts(variables: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value["value"] if isinstance(value, Mapping) else value) for name, value in variables.items()}


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        text = text.replace(f"${name}", value).replace(f"${{{name}}}", value)
    return text
