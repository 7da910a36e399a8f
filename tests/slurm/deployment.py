"""Deployments on a testbed: `launch` run there as a user would, and what it leaves behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.testbed import cache
from tests.testbed.bed import Bed, until
from tests.testbed.guard import members

LAUNCH = str(Path(sys.executable).with_name("launch"))

RECIPE = """\
schema = 1
name = "small"

[model]
served_name = "tiny"

[roles.worker]
manifest = "sim"
replicas = 2
gpus = 8

[router]
kind = "smg"
flags = { policy = "round_robin" }

[ready]
timeout = "90s"
"""
"""Two workers of a node each, and the router beside the first."""

CLUSTER = """\
schema = 1
name = "bed"
runtime = "none"
python = "{python}"
runs = "{shared}/$USER/runs"
interface = "hsn0"

[slurm]
kill_wait = 5

[node]
gpus = 8
cpus = 32
memory = "60000M"

[images]
smg = "{environment}"
"""


@dataclass
class Site:
    """A testbed with a cluster file for it, and a recipe; `env` is added to the user's own."""

    bed: Bed
    cluster: str = CLUSTER
    user: str = "alice"
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = self.bed.shared / f"site-{os.urandom(4).hex()}"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        values = {"python": sys.executable, "shared": str(self.folder), "environment": sys.prefix}
        self.file = self.write("bed.toml", self.cluster.format(**values))
        self.env = {
            "LAUNCH_CLUSTER": str(self.file),
            "XDG_STATE_HOME": str(self.folder / "state"),
            # As of an installed program: compiled once, not for every call of an ordinary user.
            "PYTHONPYCACHEPREFIX": str(cache.folder("bytecode")),
            **self.env,
        }

    def write(self, name: str, text: str) -> Path:
        """A file of the user's."""
        path = self.folder / name
        path.write_text(text)
        return path

    def recipe(self, text: str = RECIPE, name: str = "small.toml") -> str:
        """A recipe's path."""
        return str(self.write(name, text))

    def adapter(self, name: str, text: str, manifest: str) -> None:
        """An adapter of another package and the role manifest that names it, beside the recipes."""
        self.write(f"{name}_adapter.py", text)
        installed = self.folder / f"{name}-1.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (installed / "entry_points.txt").write_text(f"[launcher.roles]\n{name} = {name}_adapter:ADAPTER\n")
        (self.folder / "manifests").mkdir(exist_ok=True)
        self.write(f"manifests/{name}.toml", manifest)
        self.env["PYTHONPATH"] = str(self.folder)

    def launch(self, *words: str, status: int | None = 0, **where: Any) -> subprocess.CompletedProcess[str]:
        """`launch words…` to its end, as the user, on the login node."""
        env = {**self.env, **where.pop("env", {})}
        done = self.bed.run([LAUNCH, *words], user=self.user, env=env, cwd=self.folder, timeout=120, **where)
        assert status is None or done.returncode == status, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def begin(self, *words: str, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        """`launch words…`, not waited for."""
        return self.bed.start([LAUNCH, *words], user=self.user, env={**self.env, **(env or {})}, cwd=self.folder)

    def up(self, *words: str, text: str = RECIPE) -> "Deployed":
        """A run that is ready."""
        self.launch("up", self.recipe(text), "--wait", *words)
        return self.last()

    def started(self, *words: str, text: str = RECIPE) -> "Deployed":
        """A run that was submitted."""
        name = self.launch("up", self.recipe(text), "--detach", *words).stdout.strip()
        return next(run for run in self.runs() if run.name == name)

    def runs(self) -> list["Deployed"]:
        """The runs of the user, oldest first."""
        found = json.loads(self.launch("ps", "--all", "--json").stdout)["runs"]
        return [Deployed(self, Path(run["path"]), run["job"]) for run in found]

    def last(self) -> "Deployed":
        """The newest run."""
        return self.runs()[-1]


_CURL = ("curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "20")


@dataclass
class Deployed:
    """One run on the testbed."""

    site: Site
    path: Path
    job: str

    @property
    def name(self) -> str:
        """What people call it."""
        return self.path.name

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its journal."""
        try:
            return [json.loads(line) for line in (self.path / "events.jsonl").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def told(self) -> dict[str, Any]:
        """As `ps --json` tells of it."""
        found = json.loads(self.site.launch("ps", "--all", "--json").stdout)["runs"]
        result: dict[str, Any] = next(run for run in found if run["id"] == self.name)
        return result

    def outcome(self) -> dict[str, Any]:
        """Its outcome, waited for until its job is over."""
        self.site.bed.wait(int(self.job))
        self.told()
        result: dict[str, Any] = json.loads((self.path / "outcome.json").read_text())
        return result

    def heard(self, event: str, step: str | None = None) -> dict[str, Any]:
        """The event, waited for."""
        return until(
            lambda: next((e for e in self.events if e["event"] == event and step in (None, e.get("step"))), None)
        )

    def steps(self) -> dict[str, str]:
        """Child → id of its running step."""
        tail = f"@{self.name}"
        found = self.site.bed.steps(int(self.job))
        return {step.name.removesuffix(tail): step.id for step in found if step.name.endswith(tail)}

    def task(self, child: str) -> int:
        """The process that is the first task of a child."""
        path = next((self.path / "pids").glob(f"{child}.*.*"))
        return int(path.name.rpartition(".")[2])

    def started(self, child: str) -> int:
        """The `srun` of a child."""
        return int(self.heard("start", child)["pid"])

    def fetch(self, url: str, *words: str, on: str = "node3") -> str:
        """What is said at a URL to who asks from a node that has no step of the run, by `curl` with these words."""
        done = self.site.bed.run([*_CURL, url, *words], on=on)
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    def post(self, path: str, body: Mapping[str, Any], *words: str, url: str | None = None, on: str = "node3") -> Any:
        """The answer to a request at the public URL or another, asked for so."""
        sent = ("-H", "content-type: application/json", "-d", json.dumps({"model": "tiny", **body}))
        return json.loads(self.fetch(f"{url or self.heard('begin')['url']}{path}", *sent, *words, on=on))

    def ask(self, *, on: str = "node3") -> str:
        """What is said in a completion."""
        body = {"messages": [{"role": "user", "content": "hello"}]}
        return str(self.post("/v1/chat/completions", body, on=on)["choices"][0]["message"]["content"])

    def part(self, *words: str, prompt: str = "a b c", url: str | None = None) -> dict[str, Any]:
        """Who had a part in a completion."""
        body = {"prompt": prompt, "max_tokens": 2}
        found: dict[str, Any] = self.post("/v1/completions", body, *words, url=url)["sim"]
        return found

    def pages(self) -> dict[str, str]:
        """Step → the page of metrics that Prometheus finds there."""
        return {
            group["labels"]["step"]: self.fetch(f"http://{target}{group['labels'].get('__metrics_path__', '/metrics')}")
            for group in json.loads((self.path / "scrape.json").read_text())
            for target in group["targets"]
        }

    def gone(self) -> None:
        """Nothing of the run is left: no step, no process, no job."""
        self.site.bed.wait(int(self.job))
        assert self.steps() == {}
        with suppress(AssertionError):
            until(lambda: self.left() == {} or None, timeout=10)
        assert self.left() == {}

    def left(self) -> dict[int, list[str]]:
        """Processes that mention the run's directory or have it in their environment."""
        mark = str(self.path).encode()
        found = {}
        for pid, words in self.site.bed.processes(self.site.user).items():
            try:
                environment = Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if mark in environment or any(str(self.path) in word for word in words):
                found[pid] = words
        return found


def kill(*pids: int) -> None:
    """kill -9."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def children(pid: int, bed: Bed) -> Sequence[int]:
    """The children of a process of the testbed."""
    found = []
    for each in members(bed.root):
        try:
            if int(Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(each)
        except OSError:
            continue
    return found
