"""Audits: rules that need facts of the machine. Each yields questions, and findings once they are answered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from launcher.checks import bootstrap, images, locks, model, site, sources
from launcher.checks.remedy import remedy, unknown
from launcher.checks.shared import ROLES, Finding, Said, once
from launcher.model.facts import Answer, Facts, Installed, Module, Port, Program, Question, Syntax, Variable
from launcher.model.job import Job, Role, table
from launcher.plan.step import Plan, Step
from launcher.roles.said import said
from launcher.run.script import bind, ref
from launcher.text.diagnostic import Diagnostic, Place, Severity

Audit = Callable[[Job, Plan, Facts], Iterator[Finding]]

_SHIFTS = (100, 200, 400, 800, 1600)
"""What is proposed where a port is in use, smallest first."""

_LAST = 65535

_NAMED = 4
"""Of more busy ports than these only the number is told."""


def port_in_use(job: Job, plan: Plan, facts: Facts) -> Iterator[Finding]:
    """A port of the plan is in use on this machine

    Two programs cannot listen on one port: the step would end at once, or worse, its gate would be
    answered by the other program. The message names the owner where the system tells (another user's
    process is often hidden), a run of yours by its name. `--set ports.shift=N` moves every port,
    `--set ports.public=N` the public one.
    """
    # On a cluster the nodes are asked, by the run itself, once there are any.
    wanted = _ports(plan) if plan.batch is None else {}
    busy: dict[Answer, list[int]] = {}
    for number in wanted:
        answer = facts.get(Port(number))
        if answer is None:
            yield Port(number)
        elif not answer.yes:
            busy.setdefault(answer, []).append(number)
    if not busy:
        return
    moving = _moving(job, plan, {number for group in busy.values() for number in group})
    highest = max(moving, default=_LAST)
    candidates = {shift: [n + shift for n in moving] for shift in _SHIFTS if highest + shift <= _LAST}
    unknown = [Port(number) for numbers in candidates.values() for number in numbers if Port(number) not in facts]
    if unknown:
        yield from unknown
        return
    free = (shift for shift, numbers in candidates.items() if all(facts[Port(number)].yes for number in numbers))
    advice = _move(job, next(free, None), moving, _public(plan))
    for answer, group in busy.items():
        down = f"`launch down {answer.run}`" if answer.run else answer.advice
        stop = f"{down} stops it; or " if down else ""
        message = f"{_listed([(number, wanted[number]) for number in group])} {answer.text}"
        yield Diagnostic("port-in-use", message, _ports_place(job, plan, group[0]), help=f"{stop}{advice}", exit=1)


@once
def variable_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """A variable of `env_from` is not set in the submitting shell

    `env_from` passes values by name, so that secrets stand in no file. A role that is started without
    one fails late and far away; an empty value counts as set.
    """
    for role in job.roles:
        for index, name in enumerate(role.env_from):
            answer = facts.get(Variable(name))
            if answer is None:
                yield Variable(name)
            elif not answer.yes:
                message = f"`{name}` is not set in this shell"
                advice = f"`export {name}=…`, or take it out of `env_from`"
                place = role.place("env_from", index)
                finding = Diagnostic("variable-absent", message, place, help=advice, exit=1)
                yield Said(Variable(name), role.name, finding)


@once
def program_absent(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """A program that a step runs is not on this machine

    Without containers a role's programs come from this machine. A module (`python -m NAME`) must be one of
    the interpreter that runs it; a program must be on `PATH`, or at its path. Programs that do not get on with
    others have an environment of their own: a directory that the cluster's `[images]` names, first on the
    role's `PATH`.
    """
    for step in plan.steps if plan.batch is None else ():
        role = next(role for role in job.roles if role.name == step.role)
        for question in _programs(step, role):
            answer = facts.get(question)
            if answer is None:
                yield question
            elif not answer.yes:
                yield from unknown(question, role, facts)
                finding = Diagnostic(
                    "program-absent",
                    f"{ROLES}: {answer.text}",
                    _role_place(job, role),
                    notes=(f"looked on {answer.where}",),
                    help=remedy(question, role, job.cluster.name, facts),
                    exit=4,
                )
                yield Said(question, role.name, finding)


@once
def program_version(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """The program on this machine is another version than is checked

    Flags are checked against the catalogue of the version that recipe, image alias or role manifest say. Without
    containers the program comes from this machine, where pip left its version beside it. This is a warning.
    """
    for step in plan.steps if plan.batch is None else ():
        role = next(role for role in job.roles if role.name == step.role)
        if role.version is None or role.catalogue is None:
            continue
        question = Installed(step.words[0], images.distribution(role), _first(step))
        answer = facts.get(question)
        if answer is None:
            yield question
        elif answer.yes and role.version not in (answer.text, answer.text.partition("+")[0]):
            finding = Diagnostic(
                "program-version",
                f"{role.manifest.program.name} of {ROLES} is {answer.text}, and {role.version} is checked",
                _role_place(job, role),
                Severity.WARNING,
                notes=(f"looked on {answer.where}",),
                help=f'say `version = "{answer.text}"` in the role, or install {role.version}',
            )
            yield Said(question, role.name, finding)


@once
def setup_syntax(job: Job, plan: Plan, facts: Facts) -> Iterator[Said | Finding]:
    """A preamble is no shell that bash can parse

    `setup` runs in the role's shell before its command; a syntax error would end the step after the
    nodes were given. Asked of `bash -n`, which parses and runs nothing.
    """
    for role in job.roles:
        if role.setup is not None:
            for each in _syntax(facts, role.setup, role.place("setup")):
                yield Said(Syntax(role.setup), role.name, each) if isinstance(each, Diagnostic) else each
    if job.cluster.setup is not None:
        yield from _syntax(facts, job.cluster.setup.inline, job.cluster_origins.place(("setup", "inline")))


AUDITS: Mapping[str, Audit] = {
    "port-in-use": port_in_use,
    "variable-absent": variable_absent,
    "program-absent": program_absent,
    "program-version": program_version,
    "setup-syntax": setup_syntax,
    "envoy-lacks-cluster": bootstrap.envoy_lacks_cluster,
    "envoy-refuses": bootstrap.envoy_refuses,
    "partition-unusable": site.partition_unusable,
    "time-over-limit": site.time_over_limit,
    "gpus-absent": site.gpus_absent,
    "pyxis-absent": site.pyxis_absent,
    "mpi-unknown": site.mpi_unknown,
    "account-unknown": site.account_unknown,
    "image-absent": images.image_absent,
    "image-unseen": images.image_unseen,
    "image-of-other-nodes": images.image_of_other_nodes,
    "image-lacks-program": images.image_lacks_program,
    "image-lacks-package": images.image_lacks_package,
    "image-version": images.image_version,
    "driver-refused": images.driver_refused,
    "image-moved": locks.image_moved,
    "image-unlocked": locks.image_unlocked,
    "mount-absent": sources.mount_absent,
    "model-absent": model.model_absent,
    "experts-absent": model.experts_absent,
    "heads-not-shared": model.heads_not_shared,
    "layers-too-few": model.layers_too_few,
    "experts-not-shared": model.experts_not_shared,
}
"""Code → audit; its docstring is what `launch explain CODE` prints."""


def audit(job: Job, plan: Plan, facts: Facts) -> tuple[list[Diagnostic], list[Question]]:
    """Findings so far, and what must be asked before there can be more (each question once)."""
    found = [finding for rule in AUDITS.values() for finding in rule(job, plan, facts)]
    questions = dict.fromkeys(finding for finding in found if not isinstance(finding, Diagnostic))
    return [finding for finding in found if isinstance(finding, Diagnostic)], list(questions)


def here(plan: Plan, slots: Mapping[str, str]) -> Plan:
    """The plan as a machine runs it without containers: late references bound, each step with its own `{python}`."""

    def located(step: Step) -> Step:
        first = _first(step)
        words = (word.replace(ref("python"), f"{first}/python") if first else word for word in step.words)
        return replace(step, words=tuple(words))

    bound: Plan = bind(replace(plan, steps=tuple(map(located, plan.steps))), slots)
    return bound


def _first(step: Step) -> str | None:
    """The directory that stands first on the step's PATH: an image that is a directory has one."""
    reference = step.reference or ""
    return f"{reference.rstrip('/')}/bin" if reference.startswith("/") else None


def _ports(plan: Plan) -> dict[int, str]:
    wanted = {number: f"`{name}` of {step.name}" for step in plan.steps for number, name in step.listens.items()}
    return {number: "the public one" if number in _public(plan) else what for number, what in wanted.items()}


def _listed(ports: Sequence[tuple[int, str]]) -> str:
    """`port 8000 (the public one) is`, `ports 6100 (`http` of worker-0) and 2 more are`."""
    said = [f"{number} ({what})" for number, what in ports[:_NAMED]]
    more = len(ports) - len(said)
    *most, last = [*said, *([f"{more} more"] if more else [])]
    return f"ports {', '.join(most)} and {last} are" if most else f"port {last} is"


def _public(plan: Plan) -> set[int]:
    tail = plan.url.rstrip("/").rpartition(":")[2]
    return {int(tail)} if tail.isdigit() else set()


def _moving(job: Job, plan: Plan, busy: set[int]) -> set[int]:
    """The ports that have to move: a public port that the recipe names stays where it is by itself, and so do those
    that a role's words name.
    """
    public, every = _public(plan), set(_ports(plan)) - _named(job, plan)
    if busy <= _named(job, plan):
        return set()
    if busy == public:
        return public
    return every if job.recipe.ports.public is None or public & busy else every - public


def _named(job: Job, plan: Plan) -> set[int]:
    """The ports that flags and variables of roles name."""
    names = {role.name: {found.name for found in said(role)} for role in job.roles}
    return {number for step in plan.steps for number, name in step.listens.items() if name in names[step.role]}


def _move(job: Job, shift: int | None, moving: set[int], public: set[int]) -> str:
    if not moving:
        return "end the other program, or name another port"
    if shift is None:
        return "end the other program, or `--set ports.shift=N` with an N whose ports are free"
    words = [] if moving == public else [f"--set ports.shift={job.recipe.ports.shift + shift}"]
    if moving == public or (job.recipe.ports.public is not None and public <= moving):
        words += [f"--set ports.public={number + shift}" for number in public]
    return f"`{' '.join(words)}` moves {'it' if moving == public else 'them' if len(words) > 1 else 'every port'}"


def _ports_place(job: Job, plan: Plan, number: int) -> Place | None:
    """Where ports are said, else the role whose port it is."""
    written = next((path for path in (("ports", "public"), ("ports", "shift")) if path in job.origins.chains), None)
    if written:
        return job.origins.place(written)
    name = next((step.role for step in plan.steps if number in step.listens), job.router.name)
    return _role_place(job, next(role for role in job.roles if role.name == name))


def _role_place(job: Job, role: Role) -> Place | None:
    own = table(role.name)
    # Of a role that the router brings along that is `[router] kind`.
    return job.origins.place(own, "key") if own in job.origins.chains else role.place()


def _programs(step: Step, role: Role) -> Iterator[Program | Module]:
    first = _first(step)
    yield from (Program(name, first) for name in role.manifest.program.needs)
    if "/" not in step.words[0] or step.words[0].startswith("/"):
        yield Program(step.words[0], first)
    if step.setup is not None:
        yield Program("bash", first)
    if step.words[1:2] == ("-m",) and len(step.words) > 2:
        yield Module(step.words[0], step.words[2])
    yield from (Module(step.words[0], name, distribution) for name, distribution in images.imported(role).items())


def _syntax(facts: Facts, text: str, place: Place) -> Iterator[Finding]:
    answer: Answer | None = facts.get(Syntax(text))
    if answer is None:
        yield Syntax(text)
    elif not answer.yes:
        message, help_ = (
            f"bash cannot parse the preamble: {answer.text}",
            "its lines are counted from the preamble's own",
        )
        yield Diagnostic("setup-syntax", message, place, help=help_)
