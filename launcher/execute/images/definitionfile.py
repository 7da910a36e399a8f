"""A `.sif` out of a definition's own `NAME.def`: Apptainer builds it, told by spython; no Docker, no root.

Facts, of Apptainer 1.4.5: files of `%files` are looked for where it is started, an argument that the definition does
not take is an error, and logins for registries may stand in its environment.
"""

import shutil
from importlib import import_module
from pathlib import Path

from launcher.execute.images.build import OFFLINE, Base, Order, staged
from launcher.execute.images.failure import Failure
from launcher.execute.world import World
from launcher.images import building
from launcher.images.containerfile import templates
from launcher.images.login import Login

_LAST = 12


def build(world: World, order: Order, base: Base, asked: tuple[Login | None, bool], place: Path) -> Path:
    """Builds in the folder `place`; the file is in it. `asked` is who asks the base's registry, and whether without
    TLS. Raises Failure and OSError.
    """
    login, plain = asked
    path = world.environ.get("PATH", "")
    program = next((name for name in ("apptainer", "singularity") if shutil.which(name, path=path)), None)
    if program is None:
        raise Failure("faulty", "no program here builds SIF files", "install Apptainer, or put it on `PATH`")
    name = f"{order.definition.name}.def"
    staged(order, place)
    text = _text(place / name)
    labels = building.labels(order.definition, order.key, base.upon)
    said = "".join(f"    {key} {value}\n" for key, value in labels.items())
    (place / name).write_text(f"{text.rstrip()}\n\n%labels\n{said}", encoding="utf-8")
    args = building.given(order.definition, templates(text), base.word, OFFLINE if order.wheels else {})
    out = place / "image.sif"
    env = {**world.environ, "APPTAINER_TMPDIR": str(place), "APPTAINER_CACHEDIR": str(place / "cache")}
    if login is not None and not login.token:
        env |= {"APPTAINER_DOCKER_USERNAME": login.user, "APPTAINER_DOCKER_PASSWORD": login.password}
    words = ["env", "--chdir", str(place), program, "--quiet", "build", "--force"]
    words += ["--no-https"] if plain else []
    words += [f"--build-arg={key}={value}" for key, value in args.items()]
    # spython takes as long to import as all the rest of a command.
    run = import_module("spython.utils").run_command
    done = run([*words, str(out), name], capture=True, quiet=True, environ=env)
    if done["return_code"] != 0:
        lines = [line for line in "".join(done["message"]).splitlines() if line.strip()]
        raise Failure("faulty", f"Apptainer could not build `{name}`: {'; '.join(lines[-_LAST:])}")
    return out


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"the definition has no `{path.name}`"
        raise Failure("absent", message, "`--with docker` builds its Containerfile") from None
