"""What to do about a program that is not on this machine: the words that install it, and where to say so."""

from collections.abc import Iterator

from launcher.model.facts import Facts, Folder, Module, Program
from launcher.model.job import Role
from launcher.roles.placeholder import fill

CONFIG, DATA = Folder("config"), Folder("data")

_SOMEWHERE = "/path/to"


def unknown(question: Program | Module, role: Role, facts: Facts) -> Iterator[Folder]:
    """What must be known of this machine before `remedy` can say where things go."""
    if _own(question, role) and role.manifest.program.packages and not _directory(role):
        yield from (folder for folder in (CONFIG, DATA) if folder not in facts)


def remedy(question: Program | Module, role: Role, cluster: str, facts: Facts) -> str:
    """How the program comes to be there. What a role manifest says to install gets an environment of its own."""
    program, directory = role.manifest.program, _directory(role)
    install = f"-m pip install {' '.join(packages(role))}"
    if isinstance(question, Module):
        if question.distribution:
            return f"`{question.python} -m pip install {question.distribution}`"
        if not program.packages:
            wanted = f"{question.name}=={role.version or program.version}" if program.version else question.name
            return f"`{question.python} -m pip install {wanted}`"
        if directory:
            return f"`{question.python} {install}`"
        return "\n".join(_environment(question.python, role, cluster, facts))
    if program.packages and not directory and _own(question, role):
        return "\n".join(_environment("python3", role, cluster, facts))
    if program.packages and directory and question.name == f"{directory}/bin/python":
        return f"`python3 -m venv {directory}`, then `{question.name} {install}`"
    if role.image is not None and not program.packages and role.manifest.kind == "service":
        place = f'`{role.image} = "/path/to/it"` in `[images]` of the cluster'
        return f"no package has it: put its directory on `PATH`, or name one with `bin/{question.name}` by {place}"
    return "install it, or put its directory on `PATH`"


def _own(question: Program | Module, role: Role) -> bool:
    """Whether it is the role's own program, which its manifest may say how to install."""
    if isinstance(question, Module):
        return not question.distribution
    return question.name == next(iter(role.manifest.program.command), None)


def _environment(python: str, role: Role, cluster: str, facts: Facts) -> Iterator[str]:
    alias = role.image or role.manifest.name
    home = f"{_folder(facts, DATA)}/environments/{alias}"
    yield "make it an environment of its own, and name that to the cluster:"
    yield f"  {python} -m venv {home}"
    yield f"  {home}/bin/python -m pip install {' '.join(packages(role))}"
    if role.image is None:
        yield f'then say `image = "{home}"` in the role'
        return
    yield f"then in {_folder(facts, CONFIG)}/clusters/{cluster}.toml:"
    yield from (f"  {line}" for line in ("schema = 1", f'name = "{cluster}"', "[images]", f'{alias} = "{home}"'))


def packages(role: Role) -> list[str]:
    """The manifest's packages as pip is told to install them; without a version where nobody says one."""
    version = role.version or role.manifest.program.version
    wanted = role.manifest.program.packages
    if version is None:
        return [package.replace("=={version}", "") for package in wanted]
    return [fill(package, {"version": version}.get) for package in wanted]


def _folder(facts: Facts, folder: Folder) -> str:
    answer = facts.get(folder)
    return answer.text if answer and answer.yes else _SOMEWHERE


def _directory(role: Role) -> str | None:
    """The environment directory that the role's image is, where it is one."""
    reference = role.reference or ""
    return reference.rstrip("/") if reference.startswith("/") else None
