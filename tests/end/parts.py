"""The steps of a plan without their supervisor: started one by one, so that some can be missing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.execute.adapters import load
from launcher.execute.bundle import simulator
from launcher.execute.library import Files
from launcher.model.link import Edit, Request, link
from launcher.plan.plan import plan
from launcher.render.script import render
from launcher.roles.rehearsal import ARCHIVE
from launcher.run.gate import Answer, probe
from launcher.run.script import Child, Gate, Script, bind
from tests.end.environments import PYTHON
from tests.sim.processes import Program, Start, ask

HOST = "127.0.0.1"


class Parts:
    """A shipped recipe, planned for this machine with `sets` and bound; nothing of it runs yet."""

    def __init__(self, start: Start, recipe: str, *sets: str) -> None:
        self._start = start
        request = Request(recipe, edits=tuple(map(Edit, sets)))
        library = Files({}, site=Path("/nonexistent"), directory=start.folder)
        job = link(library, request)
        made = plan(job, load({role.manifest.adapter for role in job.roles}))
        script = render(made, job.cluster)
        slots = dict.fromkeys(script.slots, HOST)
        known = {"run": str(start.folder), "python": PYTHON, "path": "/usr/bin:/bin"}
        self.script: Script = bind(script, {**slots, **known})
        self.programs: dict[str, Program] = {}
        # As `launch up` does; the commands name it.
        (start.folder / ARCHIVE).write_bytes(simulator())

    def child(self, name: str) -> Child:
        return next(child for child in self.script.children if child.name == name)

    def begin(self, *names: str) -> None:
        """Starts steps, each in the environment and with the words that its supervisor would use."""
        for name in names:
            child = self.child(name)
            self.programs[name] = self._start.run(child.argv, child.env)

    def kill(self, name: str) -> None:
        """A step dies without a word."""
        self.programs[name].process.kill()
        self.programs[name].process.wait()

    def asked(self, *gates: Gate) -> list[Answer]:
        """What each gate says now; a step that was started and has ended is a failure."""
        for name, program in self.programs.items():
            assert program.process.poll() in (None, -9), (name, program.text)
        return [probe(gate) for gate in gates]

    def open(self, name: str) -> bool:
        """Whether every gate of a step is open."""
        return all(answer.open for answer in self.asked(*self.child(name).gates))

    @property
    def ready(self) -> bool:
        """Whether all that ends the wait is open."""
        return all(answer.open for answer in self.asked(*self.script.ready))

    def says(self, path: str) -> bool:
        """Whether the router answers a page with 200."""
        return probe(Gate("http", f"{self.script.url}{path}")).open

    def ask(self, path: str, data: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """A request to the public port."""
        return ask(int(self.script.url.rpartition(":")[2]), path, data, headers)
