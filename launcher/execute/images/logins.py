"""Credentials for registries, where people have put them: files, credential helpers, the environment.

Asked in this order, the first that knows the registry counts: `DOCKER_AUTH_CONFIG` (the text of a `config.json`),
enroot's `.credentials` where the reference names a user or none of the files knows it, `REGISTRY_AUTH_FILE`, Docker's
`config.json` with its helpers, podman's `auth.json`, Apptainer's `docker-config.json` (`apptainer registry login` of
1.3 and later writes it; pkg/syfs/syfs.go says where), `APPTAINER_DOCKER_USERNAME` and `…_PASSWORD`.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launcher.execute.images.failure import Failure
from launcher.images import login
from launcher.images.login import Login
from launcher.images.reference import Reference
from launcher.run import account

_NONE = "credentials not found"
"""What a helper says that has no login for a registry (docker-credential-helpers 0.9, errors.go)."""


@dataclass(frozen=True)
class Broken:
    """Why a place where a login may be could not tell: `phrase` goes on a sentence, `advice` says where it is."""

    phrase: str
    advice: str


@dataclass
class Logins:
    """Looks each registry up once; a credential helper is waited for `patience` seconds."""

    environ: Mapping[str, str]
    patience: float = 10.0
    _found: dict[tuple[str, str, str | None], Login | None] = field(default_factory=dict)
    _broken: dict[str, Broken] = field(default_factory=dict)

    def broken(self, wanted: Reference) -> Broken | None:
        """A credential helper of the registry's that failed: what is public is shown without its login."""
        return self._broken.get(wanted.registry)

    def login(self, wanted: Reference) -> Login | None:
        """Who asks for an image; None for nobody in particular. Raises Failure for what is there and cannot be used."""
        key = wanted.registry, wanted.repository, wanted.user
        if key not in self._found:
            self._found[key] = next((found for found in self._ways(wanted) if found is not None), None)
        return self._found[key]

    def _ways(self, wanted: Reference) -> Iterator[Login | None]:
        if wanted.user is not None:
            yield self._netrc(wanted)
        yield self._text(wanted)
        for path in self._files():
            data = _json(path)
            if data is not None:
                yield self._helped(data, wanted, path) or login.docker(
                    data, wanted.registry, wanted.repository, str(path)
                )
        yield self._netrc(wanted)
        yield self._apptainer()

    def _text(self, wanted: Reference) -> Login | None:
        text = self.environ.get("DOCKER_AUTH_CONFIG")
        if not text:
            return None
        try:
            data = json.loads(text)
        except ValueError:
            raise Failure("denied", "`DOCKER_AUTH_CONFIG` is no JSON", "it holds the text of a `config.json`") from None
        return login.docker(data, wanted.registry, wanted.repository, "`DOCKER_AUTH_CONFIG`") if data else None

    def _files(self) -> Iterator[Path]:
        home = account.known(self.environ).get("HOME", "/")
        if named := self.environ.get("REGISTRY_AUTH_FILE"):
            yield Path(named)
        yield Path(self.environ.get("DOCKER_CONFIG") or f"{home}/.docker") / "config.json"
        if runtime := self.environ.get("XDG_RUNTIME_DIR"):
            yield Path(runtime) / "containers" / "auth.json"
        yield Path(self.environ.get("XDG_CONFIG_HOME") or f"{home}/.config") / "containers" / "auth.json"
        yield Path(self.environ.get("APPTAINER_CONFIGDIR") or f"{home}/.apptainer") / "docker-config.json"

    def _helped(self, data: Mapping[str, Any], wanted: Reference, path: Path) -> Login | None:
        named = login.helper(data, wanted.registry)
        if named is None:
            return None
        program = f"docker-credential-{named[0]}"
        said = self._asked(program, named[1])
        if isinstance(said, Login):
            return said
        if said:
            self._broken[wanted.registry] = Broken(said, f"`{path}` names it for `{wanted.registry}`")
        return None

    def _asked(self, program: str, server: str) -> Login | str:
        """What a helper says; else why it does not, nothing where it has no login for this registry."""
        try:
            done = subprocess.run(
                [program, "get"],
                input=server.encode(),
                capture_output=True,
                timeout=self.patience,
                env=dict(self.environ),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"the credential helper `{program}` did not answer"
        except OSError:
            return f"the credential helper `{program}` cannot be run"
        if done.returncode != 0:
            lines = (done.stdout or done.stderr).decode("utf-8", "replace").strip().splitlines()
            last = lines[-1][:200] if lines else f"it ended with {done.returncode}"
            return "" if _NONE in last else f"the credential helper `{program}` failed: {last}"
        try:
            said = json.loads(done.stdout)
            user, secret = str(said["Username"]), str(said["Secret"])
        except (ValueError, KeyError, TypeError):
            return f"the credential helper `{program}` answers with no login"
        return Login(user, secret, program, token=user == login.TOKEN_USER)

    def _netrc(self, wanted: Reference) -> Login | None:
        home = account.known(self.environ).get("HOME", "/")
        folder = self.environ.get("ENROOT_CONFIG_PATH") or (
            f"{self.environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/enroot"
        )
        path = Path(folder) / ".credentials"
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        try:
            return login.netrc(text, wanted.registry, wanted.user, self.environ, str(path))
        except ValueError as error:
            raise Failure("denied", str(error), "write the password itself, or a `$VARIABLE`") from error

    def _apptainer(self) -> Login | None:
        for program in ("APPTAINER", "SINGULARITY"):
            user = self.environ.get(f"{program}_DOCKER_USERNAME")
            password = self.environ.get(f"{program}_DOCKER_PASSWORD")
            if user and password:
                return Login(user, password, f"`{program}_DOCKER_USERNAME`")
        return None


def _json(path: Path) -> Mapping[str, Any] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    try:
        data = json.loads(text)
    except ValueError:
        raise Failure("denied", f"`{path}` is no JSON", "registries' logins are read from it") from None
    return data if isinstance(data, dict) else None
