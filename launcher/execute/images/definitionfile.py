"""A `.sif` out of a definition's own `NAME.def`: Apptainer builds it, told by spython; no Docker, no root.

Facts, of Apptainer 1.4.5: files of `%files` are looked for where it is started; an argument that no stage takes is an
error. `--build-arg` takes a line of CSV, in which each value is an argument (`pflag.StringSlice`). The login of its
environment is shown to every registry that it asks, so it is for one alone; of several there is a file (`--authfile`,
which 1.4.0 brought).
"""

import csv
import io
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from launcher.execute.images import sif
from launcher.execute.images.build import OFFLINE, Base, Order, staged
from launcher.execute.images.failure import Failure
from launcher.execute.images.transport import Transport
from launcher.execute.world import World
from launcher.images import building, login
from launcher.images.deffile import stages, templates
from launcher.images.login import Login
from launcher.run import files

_LAST = 12
_LOGINS = "logins.json"


def build(world: World, order: Order, base: Base, transport: Transport, place: Path, compressor: str) -> Path:
    """Builds in the folder `place`; the file is in it. `transport` knows who asks which registry, and how.

    Raises Failure and OSError.
    """
    program = sif.program(world)
    if program is None:
        raise Failure("faulty", "no program here builds SIF files", "install Apptainer, or put it on `PATH`")
    name, out = f"{order.definition.name}.def", place / "image.sif"
    staged(order, place)
    text = _text(place / name)
    said = "".join(f"    {key} {value}\n" for key, value in order.labels(base.upon).items())
    (place / name).write_text(f"{text.rstrip()}\n\n%labels\n{said}", encoding="utf-8")
    args = building.given(order.definition, templates(text), base.word, OFFLINE if order.wheels else {})
    registries = {each.registry for each in order.images(base)}
    logins = {each.registry: found for each in order.images(base) if (found := transport.logins.login(each))}
    words = ["env", "--chdir", str(place), program, "--quiet", "build", "--force"]
    words += ["--no-https"] if any(transport.scheme(each) == "http" for each in registries) else []
    alone = stages(text) == 1
    words += [] if alone else _told(logins, place)
    words += [f"--build-arg={_quoted(f'{key}={value}')}" for key, value in args.items()]
    env = {**world.environ, **sif.variables(place, compressor), **(_alone(logins) if alone else {})}
    # spython takes as long to import as all the rest of a command.
    done = import_module("spython.utils").run_command([*words, str(out), name], capture=True, quiet=True, environ=env)
    if done["return_code"] != 0:
        lines = [line for line in "".join(done["message"]).splitlines() if line.strip()]
        raise Failure("faulty", f"Apptainer could not build `{name}`: {'; '.join(lines[-_LAST:])}")
    return out


def _told(logins: dict[str, Login], place: Path) -> Iterator[str]:
    """The words by which each registry is shown its own login; where there is none, Apptainer looks for itself."""
    if logins:
        files.write(str(place / _LOGINS), json.dumps(login.written(logins)).encode(), 0o600)
        yield f"--authfile={place / _LOGINS}"


def _quoted(argument: str) -> str:
    """One argument as a line of CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([argument])
    return line.getvalue()


def _alone(logins: dict[str, Login]) -> dict[str, str]:
    """The variables that every version knows."""
    return {
        f"APPTAINER_DOCKER_{name}": value
        for each in logins.values()
        if not each.token
        for name, value in (("USERNAME", each.user), ("PASSWORD", each.password))
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"the definition has no `{path.name}`"
        raise Failure("absent", message, "`--with docker` builds its Containerfile") from None
