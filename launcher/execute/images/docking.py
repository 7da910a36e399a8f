"""A preamble baked into an image by Docker, or what speaks as it does, and pushed.

It is run in a container of its own (`docker exec`), whose root is then committed: what an `exec` is given as its
environment is in no image, while a build keeps its arguments and a container its variables. Entrypoint, command and
user are put back as the image had them. What was exported is a label of the image.
"""

import base64
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from launcher.execute.images import berth, following, job
from launcher.execute.images.baking import Baked, judged, kept, secrets
from launcher.execute.images.daemon import Daemon
from launcher.execute.images.failure import Failure
from launcher.execute.images.registry import Registry
from launcher.execute.told import Told, unheard
from launcher.execute.world import World
from launcher.images.reference import Reference, parse
from launcher.model.bake import mark
from launcher.model.cluster import Cluster
from launcher.model.job import Role
from launcher.render import bake as words

LABEL = "launch.baked"
"""What a preamble exported: JSON, as base64, in which nothing has to be quoted."""

_RUN = "/launch"
_KILLED = 137
_READ = (words.BEGUN, words.BEFORE, words.AFTER)


@dataclass
class Dock:
    """Bakes preambles of roles on `cluster` by `daemon`, and pushes to the repository `goal`; a preamble may take
    `limit` seconds.
    """

    world: World
    daemon: Daemon
    registry: Registry
    cluster: Cluster
    goal: Reference
    limit: float
    told: Told = unheard
    progress: Told = unheard

    def path(self, role: Role, text: str, setup: str) -> str:
        """What the image `text` with the preamble of that digest is, or will be, called. Raises Failure."""
        _, manifest = self._base(text)
        return str(replace(self.goal, tag=f"baked-{mark(manifest, setup)}"))

    def bake(self, role: Role, text: str, setup: str, *, again: bool = False) -> Baked:
        """The image `text` with the role's preamble in it, made where the registry has none. Raises Failure."""
        base, manifest = self._base(text)
        name = self.path(role, text, setup)
        goal = parse(name)
        if not isinstance(goal, Reference):
            raise Failure("faulty", f"`{name}` is no image of a registry")
        self._mounted(role)
        for left in berth.clear(self.world, self.daemon):
            self.told(f"`{left}` of a bake that was killed is taken away")
        with berth.berth(self.world, goal.tag or "", f"baking {role.image}", self.told) as own:
            self.registry.forget(goal)
            known = None if again else self._there(goal)
            if known is not None:
                return Baked(name, known, made=False)
            env = self._made(role, replace(base, tag=None, digest=manifest), goal, own)
        return Baked(name, env, made=True)

    def _made(self, role: Role, base: Reference, goal: Reference, own: str) -> Mapping[str, str]:
        """What the preamble exported; the image is in the registry. `own` is the name of what is made here for it."""
        self.told(f"baking `{role.image}` with the preamble of `{role.name}`, by {self.daemon.name}")
        login = self.registry.transport.logins.login
        self.daemon.pull(base, login(base))
        berth.remove(self.daemon, own)
        try:
            config = self._started(f"{base.registry}/{base.repository}{base.version}", own)
            env = self._run(role, own)
            self._commit(own, berth.image(own), config, env)
            self.daemon.push(berth.image(own), goal, login(goal), self.progress)
        finally:
            self.registry.forget(goal)
            berth.remove(self.daemon, own)
        return env

    def _base(self, text: str) -> tuple[Reference, str]:
        source = parse(text)
        if not isinstance(source, Reference):
            message = f"`{text}` is no image of a registry, and Docker starts from those alone"
            raise Failure("faulty", message, "leave `--push` out: a job on a compute node bakes it")
        if self.cluster.arch and self.daemon.arch != self.cluster.arch:
            message = f"{self.daemon.name} here is for {self.daemon.arch}, and the nodes are {self.cluster.arch}"
            raise Failure("platform", message, "leave `--push` out: a job on a compute node bakes")
        return source, self.registry.image(source, self.daemon.arch).manifest.digest

    def _there(self, goal: Reference) -> Mapping[str, str] | None:
        try:
            labels = dict(self.registry.image(goal, self.daemon.arch).config.labels)
            found = json.loads(base64.b64decode(labels[LABEL]))
        except (Failure, KeyError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _mounted(self, role: Role) -> None:
        """Raises Failure where the preamble reads what only nodes have."""
        text = role.preamble or ""
        there = [each.target for each in role.mounts if each.target.rstrip("/") and each.target.rstrip("/") in text]
        if there:
            message = f"the preamble of `{role.name}` reads `{there[0]}`, a mount that Docker has not"
            raise Failure("faulty", message, "leave `--push` out: a job on a compute node has it")

    def _started(self, image: str, name: str) -> Mapping[str, Any]:
        """How an image starts; a container of it waits."""
        config: Mapping[str, Any] = self._asked(lambda api: api.inspect_image(image))["Config"]
        # It waits by what every shell has.
        self._asked(
            lambda api: api.create_container(
                image,
                name=name,
                entrypoint=["sh", "-c", "read -r line"],
                stdin_open=True,
                user="0",
                host_config=api.create_host_config(network_mode="host"),
            )
        )
        self._asked(lambda api: api.start(name))
        return config

    def _run(self, role: Role, container: str) -> Mapping[str, str]:
        baking = words.Baking(role, "", _RUN, "")
        self._asked(lambda api: api.put_archive(container, "/", _packed(baking, self.cluster)))
        own = {key: self.world.environ[key] for key in role.env_from if key in self.world.environ}
        hidden = secrets(self.world, role)
        lines: list[str] = []

        def hear(line: str) -> None:
            lines.append(line)
            self.progress(job.hidden(line, hidden))

        with job.limited(self.limit, lambda: self._asked(lambda api: api.kill(container))):
            exit_ = self._exec(container, words.inside(role), {**role.env, **own}, hear)
        looks = {name: found for name in _READ if (found := self._look(container, name)) is not None}
        judged(role, job.Ended(exit_, tuple(lines[-following.KEPT :])), frozenset(looks), hidden)
        env = kept(self.world, role, looks[words.BEFORE], looks[words.AFTER])
        self._exec(container, ("rm", "-rf", _RUN), {}, unheard)
        self._asked(lambda api: api.stop(container, timeout=0))
        return env

    def _exec(self, container: str, argv: tuple[str, ...], env: Mapping[str, str], hear: Told) -> int:
        made = self._asked(lambda api: api.exec_create(container, list(argv), environment=dict(env), user="0"))["Id"]
        rest = b""
        for piece in self.daemon.pieces(lambda: self.daemon.api.exec_start(made, stream=True)):
            *whole, rest = (rest + piece).split(b"\n")
            for raw in whole:
                hear(raw.decode("utf-8", "replace").rstrip())
        # Of a container that was killed meanwhile there is none.
        code = self._asked(lambda api: api.exec_inspect(made))["ExitCode"]
        return _KILLED if code is None else int(code)

    def _look(self, container: str, name: str) -> bytes | None:
        try:
            pieces, _ = self._asked(lambda api: api.get_archive(container, f"{_RUN}/{name}"))
        except Failure:
            return None
        whole = b"".join(self.daemon.pieces(lambda: pieces))
        with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
            file = archive.extractfile(name)
            return file.read() if file else None

    def _commit(self, container: str, name: str, config: Mapping[str, Any], env: Mapping[str, str]) -> None:
        label = base64.b64encode(json.dumps(dict(env)).encode()).decode("ascii")
        changes = [
            f"ENTRYPOINT {json.dumps(config.get('Entrypoint') or [])}",
            f"CMD {json.dumps(config.get('Cmd') or [])}",
            f"USER {config.get('User') or '0'}",
            f"LABEL {LABEL}={label}",
        ]
        self._asked(lambda api: api.commit(container, name, "latest", changes=changes))

    def _asked(self, call: Callable[[Any], Any]) -> Any:
        return self.daemon.asked(lambda: call(self.daemon.api))


def _packed(baking: words.Baking, cluster: Cluster) -> bytes:
    """The files of the working folder as an archive that is unpacked at the root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for each in words.files(baking, cluster):
            content = (each.text or "").encode()
            entry = tarfile.TarInfo(f"{_RUN[1:]}/{each.path}")
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
