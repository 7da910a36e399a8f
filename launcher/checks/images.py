"""Audits of images: what registries and files have, against what the roles need of them."""

from collections.abc import Iterator, Mapping

from launcher.checks.remedy import packages
from launcher.checks.shared import ROLES, Finding, Said, once
from launcher.images import reference
from launcher.images.reference import Daemon
from launcher.images.reference import File as ImageFile
from launcher.images.require import cuda, required, unmet
from launcher.model.cluster import Cluster
from launcher.model.cluster import Image as Alias
from launcher.model.facts import Answer, Facts, Header, Image, Tag
from launcher.model.given import Given
from launcher.model.job import Job, Role
from launcher.model.option import queued
from launcher.plan.step import Plan
from launcher.run.record import record
from launcher.run.script import OPEN
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Place, Severity

_ENV_SINCE = (0, 15)


@record
class Use:
    """A role of the plan whose image can be asked about, the question, and the answer where there is one."""

    role: Role
    question: Tag | Header
    programs: tuple[str, ...]
    answer: Answer | None

    @property
    def image(self) -> Image | None:
        """What is known of the image."""
        return self.answer.image if self.answer is not None else None

    @property
    def place(self) -> Place:
        """Where the reference was written."""
        return self.role.place("reference")


@once
def image_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """An image is not there, not shown to you, or no whole image

    A registry is asked for its manifest, nothing is pulled: no such tag, or one for other users alone, would end the
    job on its nodes. Of a file the header is read: a text file, a pointer of Git LFS, a `.sqsh` that a dead import cut
    short start nothing. Logins are looked for where Docker, podman, enroot and Apptainer keep theirs (guide on
    registries).
    """
    for use in uses(job, plan, facts):
        if use.answer is None:
            yield use.question
        elif use.answer.fault in ("absent", "denied", "faulty"):
            yield _finding("image-absent", use, use.answer.text, _gone(use, job) or use.answer.advice)


def _gone(use: Use, job: Job) -> str | None:
    """What to do where a registry no longer has what it had when that was locked."""
    was = use.role.locked
    if was is None or was.digest is None or use.answer is None or use.answer.fault != "absent":
        return None
    source = reference.parse(was.reference)
    if not isinstance(source, reference.Reference) or source.digest is not None:
        return None
    named = f"{source.registry}/{source.repository}@{was.digest}"
    adopt = typed("images set", use.role.image or "ALIAS", named, job.option)
    return f"the tag was there when it was locked: if it alone is gone, {adopt} names what it was"


@once
def image_unseen(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """Nothing could be found out about an image

    Its registry does not answer here, has been asked too often, or may not be asked (`LAUNCH_OFFLINE`). The nodes may
    have more luck, so this is a warning.
    """
    for use in uses(job, plan, facts):
        if use.answer is not None and use.answer.fault in ("unreachable", "limited", "offline"):
            text, advice = use.answer.text, use.answer.advice
            yield _finding("image-unseen", use, text, advice, Severity.WARNING)


@once
def image_of_other_nodes(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """An image is for nodes of another architecture

    `arch` of the cluster file says what its compute nodes are. enroot takes what a registry gives it, whatever the
    nodes are, and the program then ends with "exec format error". A tag tells nothing: the registry is asked, and of a
    file the first bytes of a program in it.
    """
    arch = job.cluster.arch
    for use in uses(job, plan, facts):
        image = use.image
        if use.answer is not None and use.answer.fault == "platform":
            yield _finding("image-of-other-nodes", use, use.answer.text, use.answer.advice)
        elif arch and image is not None and image.arch is not None and image.arch != arch:
            message = f"the image of {ROLES} is for {image.arch}, and the nodes are {arch}"
            advice = typed("images set", use.role.image or "ALIAS", f"REFERENCE --arch {arch}", job.option)
            yield _finding("image-of-other-nodes", use, message, advice)


@once
def image_lacks_program(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """An image lacks a program that its role runs, or a shell

    pyxis, Apptainer and the launcher enter a container by `sh`, which distroless images have not. What a role runs
    beside is the first word of its command, `bash` for nothing but preambles that ask for it, and what `needs` of its
    role manifest lists. Found in files by `unsquashfs`; a registry's image is looked into where it is small (64 MiB)
    and its history tells of no command, which a shell runs. Where neither tells of a shell that is a warning: a file
    made of the image (`launch images ensure`) is looked into.
    """
    for use in uses(job, plan, facts):
        image = use.image
        if image is None:
            continue
        if image.shell is False:
            message = f"the image of {ROLES} has no shell (`sh`), which a container is entered by"
            advice = "take one with a shell, or put one into it"
            yield _finding("image-lacks-program", use, message, advice)
        elif image.shell is None and isinstance(use.question, Tag):
            message = f"whether the image of {ROLES} has a shell (`sh`) is not known: it is too large to be looked into"
            ensure = typed("images ensure", use.role.image or use.question.reference, job.option)
            advice = f"{ensure} makes a file of it, which is looked into"
            yield _finding("image-lacks-program", use, message, advice, Severity.WARNING)
        missing = [name for name in use.programs if image.programs is not None and name not in image.programs]
        for name in missing if image.shell is not False else ():
            message = f"the image of {ROLES} has no program `{name}`"
            yield _finding("image-lacks-program", use, message, "is it the right image? a preamble may install it")


@once
def image_lacks_package(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """An image has no Python package that a role imports

    What pip installs leaves a folder in the image (`.dist-info`), which is looked for where images have such. Some
    routers are Python modules (`python3 -m vllm_router.launch_router`), and the simulated engine imports packages to
    speak gRPC and to publish KV events (`--simulate`). Where the image has none of pip's folders there, its Python may
    be elsewhere, and this is a warning. A preamble may install what is missing.
    """
    for use in uses(job, plan, facts):
        if use.image is None or use.image.programs is None or use.role.setup is not None:
            continue
        there = {name for name, _ in use.image.versions}
        lacking = {name: word for name, word in _packages(use.role).items() if name not in there}
        for name in lacking:
            message = f"the image of {ROLES} has no Python package `{name}`"
            words = f"python3 -m pip install {' '.join(lacking.values())}"
            advice = f'`setup = "{words}"` in the role, or another image'
            yield _finding("image-lacks-package", use, message, advice, Severity.ERROR if there else Severity.WARNING)


def imported(role: Role) -> Mapping[str, str]:
    """Modules that the role's program imports for what it is told to do → what pip calls them."""
    given = Given(role)
    return {
        name: distribution
        for taker, modules in role.manifest.program.modules.items()
        if (role.kv_events if taker == "kv_events" else given.on(taker))
        for name, distribution in modules.items()
    }


def _packages(role: Role) -> Mapping[str, str]:
    """What pip calls the packages that the role's program cannot do without → as pip is told to install them.

    An engine's own is none of them: its image may have it from the sources alone.
    """
    program = role.manifest.program
    found = {name: name for name in imported(role).values()}
    if program.packages and program.command[1:2] == ["-m"] and role.manifest.kind != "engine":
        return {distribution(role): " ".join(packages(role)), **found}
    return found


@once
def image_version(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """An image has another version of the role's program than is said

    Flags are checked against the catalogue of the version that recipe, alias or role manifest say. What the image has
    tells the folder that pip left in it. This is a warning.
    """
    for use in uses(job, plan, facts):
        found = dict(use.image.versions).get(distribution(use.role)) if use.image else None
        if found is not None and use.role.version not in (None, found, found.partition("+")[0]):
            name = use.role.manifest.program.name
            message = f"the image of {ROLES} has {name} {found}, and {use.role.version} is checked"
            advice = typed("images set", use.role.image or "ALIAS", f"--version {name}={found}", job.option)
            yield _finding("image-version", use, message, advice, Severity.WARNING)


@once
def driver_refused(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """The image wants a newer GPU driver than the nodes have

    CUDA images say so in `NVIDIA_REQUIRE_CUDA`, and the hook that brings GPUs into a container then does not start it:
    "unsatisfied condition: cuda>=13.0". `[node] driver` of the cluster file says what the nodes have.
    `NVIDIA_DISABLE_REQUIRE = "1"` in the role's environment switches the hook's look off. Apptainer does not look, so
    there it is a warning.
    """
    driver = job.cluster.node.driver
    for use in uses(job, plan, facts):
        if driver is None or use.image is None or not use.role.gpus or "NVIDIA_DISABLE_REQUIRE" in use.role.env:
            continue
        wanted = required(use.image.env)
        if wanted is None or not unmet(wanted, driver):
            continue
        has = f"{driver}, which runs CUDA {cuda(driver)}" if cuda(driver) else driver
        message = f"the image of {ROLES} requires `{wanted.split()[0]}`; the nodes' driver is {has}"
        severity = Severity.ERROR if job.cluster.runtime == "pyxis" else Severity.WARNING
        yield _finding("driver-refused", use, message, "take an image for an older CUDA", severity)


def distribution(role: Role) -> str:
    """What pip calls the role's program: as its manifest says to install it, else by its own name."""
    program = role.manifest.program
    return program.distribution or next(iter(program.packages), program.name or "").partition("==")[0]


def questions(job: Job, plan: Plan) -> Mapping[str, Tag | Header]:
    """Reference → what is asked about it: once, for all roles that share it."""
    needs: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    there = {text for each in job.cluster.images.values() if each.where == "compute" for text in _meant(each, job)}
    options = asking(plan)
    for step in plan.steps if job.cluster.runtime != "none" else ():
        role = next((each for each in job.roles if each.name == step.role), None)
        if role is None or role.reference is None:
            continue
        programs, installed = needs.setdefault(role.reference, ({}, {}))
        programs.update(dict.fromkeys(_programs(role, step.words)))
        name, imports = distribution(role), _packages(role)
        installed.update({name: None} if name else {})
        # Whatever Python an image has, its pip tells where packages are.
        installed.update(dict.fromkeys((*imports, "pip") if imports else ()))
    found = {}
    for text, (programs, installed) in needs.items():
        question = about(text, job.cluster, tuple(sorted(programs)), tuple(sorted(installed)))
        if isinstance(question, Header) and text in there:
            question = Header(question.path, compute=options)
        if question is not None:
            found[text] = question
    return found


def _meant(image: Alias, job: Job) -> tuple[str | None, ...]:
    """What an alias stands for: its image, and the one that was baked into it."""
    derived = image.derived(job.cluster.arch)
    return (image.meant(job.cluster.arch), *((derived.base,) if derived else ()))


def asking(plan: Plan) -> tuple[str, ...]:
    """The options with which a node of the job's kind is had for a moment."""
    return () if plan.batch is None else queued(plan.batch)


def about(text: str, cluster: Cluster, programs: tuple[str, ...], packages: tuple[str, ...]) -> Tag | Header | None:
    """The question about an image of a cluster; None where it is no reference, or only a daemon has it."""
    try:
        source = reference.parse(text)
    except ValueError:
        return None
    if isinstance(source, Daemon):
        return None
    if isinstance(source, ImageFile):
        return Header(source.path, programs, packages)
    plain = source.registry in cluster.plain_http
    return Tag(str(source), cluster.arch or "", programs, packages, plain)


def uses(job: Job, plan: Plan, facts: Facts) -> Iterator[Use]:
    """Every role of the plan whose image can be asked about."""
    asked = questions(job, plan)
    for role in job.roles:
        question = asked.get(role.reference or "")
        steps = [step for step in plan.steps if step.role == role.name]
        if question is not None and steps:
            programs = tuple(dict.fromkeys(_programs(role, steps[0].words)))
            yield Use(role, question, programs, facts.get(question))


def _programs(role: Role, words: tuple[str, ...]) -> list[str]:
    """Programs the role runs; a preamble may well install them, so then there are none to miss."""
    if role.setup is not None:
        return []
    first = words[0] if words else ""
    return [*role.manifest.program.needs, *([first] if first and OPEN not in first else [])]


def _finding(code: str, use: Use, message: str, advice: str | None = None, severity: Severity = Severity.ERROR) -> Said:
    return Said(use.question, use.role.name, Diagnostic(code, message, use.place, severity, help=advice, exit=4))
