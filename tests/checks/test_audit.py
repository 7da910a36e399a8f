"""Audits: what they ask, and what they say once they know. The world is a dictionary here."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from launcher.checks.audit import AUDITS, audit
from launcher.model.catalogue import Catalogue
from launcher.model.cluster import Cluster
from launcher.model.facts import Answer, Installed, Module, Port, Program, Question, Syntax, Variable
from launcher.model.job import WORKERS, Job, Origin, Origins, Role
from launcher.model.manifest import Manifest
from launcher.model.recipe import Recipe
from launcher.plan.step import Plan, Step
from launcher.run.script import ref
from launcher.text.diagnostic import Diagnostic, Severity
from launcher.text.document import KeyPath
from launcher.text.parse import parse

YES = Answer(yes=True)


def job(recipe: str = "", setup: str | None = None, env_from: tuple[str, ...] = ()) -> Job:
    document = parse("r.toml", f'schema = 1\nname = "r"\n{recipe}')
    paths: list[KeyPath] = [(key,) for key in document.data]
    paths += [("ports", key) for key in document.data.get("ports", {})]
    origins = Origins({path: (Origin(document, path, "recipe"),) for path in paths}, document)
    manifest = Manifest.model_validate(
        {
            "schema": 1,
            "name": "m",
            "about": "x",
            "kind": "engine",
            "program": {"name": "m", "needs": ["cat"], "version": "1.2"},
        }
    )
    roles = tuple(
        Role(name, WORKERS.get(name), manifest, Origins({}, document), setup=setup, env_from=env_from)
        for name in ("worker", "router")
    )
    cluster = Cluster.model_validate({"schema": 1, "name": "local", "setup": {"inline": "ulimit -n 9"}})
    return Job(Recipe.model_validate(dict(document.data)), document, cluster, document, roles, origins, origins)


def plan(**public: int) -> Plan:
    steps = (
        Step("worker-0", "worker", (0,), ("python", "-m", "engine"), ports={"http": 6100}),
        Step("router", "router", (0,), ("/opt/route",), ports={"http": 8000, **public}),
    )
    return Plan("r", "local", 1, f"http://{ref('ip', 0)}:8000", "m", steps, (), (), (), (), 60.0)


def settle(work: Job, world: Mapping[Question, Answer], steps: Plan) -> tuple[list[Diagnostic], list[list[Question]]]:
    """Findings once every question is answered from `world` (yes where it says nothing), and the rounds asked."""
    facts: dict[Question, Answer] = {}
    rounds: list[list[Question]] = []
    while True:
        findings, questions = audit(work, steps, facts)
        if not questions:
            return findings, rounds
        rounds.append(questions)
        facts.update({question: world.get(question, YES) for question in questions})


def busy(text: str = "in use by `x` (pid 7, user bob)") -> Answer:
    return Answer(yes=False, text=text)


def test_everything_is_asked_at_once_and_each_once() -> None:
    _, rounds = settle(job(setup="echo", env_from=("TOKEN",)), {}, plan())
    assert len(rounds) == 1
    assert len(set(rounds[0])) == len(rounds[0])
    assert set(rounds[0]) == {
        Port(6100), Port(8000), Variable("TOKEN"), Program("cat"), Program("python"), Module("python", "engine"),
        Program("/opt/route"), Syntax("echo"), Syntax("ulimit -n 9"),
    }  # fmt: skip


def test_a_good_world_has_no_findings() -> None:
    assert settle(job(), {}, plan())[0] == []


def test_busy_public_port_is_moved_alone() -> None:
    findings, rounds = settle(job(), {Port(8000): busy(), Port(8100): busy()}, plan())
    assert [(f.code, f.message, f.exit) for f in findings] == [
        ("port-in-use", "port 8000 (the public one) is in use by `x` (pid 7, user bob)", 1)
    ]
    assert findings[0].help == "`--set ports.public=8200` moves it"
    assert len(rounds) == 2


def test_busy_ports_are_moved_together() -> None:
    findings, _ = settle(
        job("[ports]\nshift = 50\n"), {Port(6100): busy(), Port(8000): busy(), Port(8100): busy()}, plan()
    )
    assert [(f.message, f.help) for f in findings] == [
        (
            "ports 6100 (`http` of worker-0) and 8000 (the public one) are in use by `x` (pid 7, user bob)",
            "`--set ports.shift=250` moves every port",
        )
    ]
    place = findings[0].place
    assert place is not None and place.path == ("ports", "shift")


@pytest.mark.parametrize(
    ("busy_ports", "advice"),
    [
        ((8000,), "`--set ports.public=8100` moves it"),
        ((6100,), "`--set ports.shift=100` moves every port"),
        ((6100, 8000), "`--set ports.shift=100 --set ports.public=8100` moves them"),
    ],
)
def test_a_public_port_that_the_recipe_names_does_not_move_with_the_others(
    busy_ports: tuple[int, ...], advice: str
) -> None:
    findings, _ = settle(job("[ports]\npublic = 8000\n"), {Port(number): busy() for number in busy_ports}, plan())
    assert [finding.help for finding in findings] == [advice]


def test_a_run_that_is_kept_elsewhere_is_ended_from_there() -> None:
    down = "`XDG_STATE_HOME=/s launch down a-1`"
    held = Answer(yes=False, text="in use by the run `/s/launch/runs/a-1`", advice=down)
    findings, _ = settle(job(), {Port(6100): held}, plan())
    assert [finding.help for finding in findings] == [f"{down} stops it; or `--set ports.shift=100` moves every port"]


def test_busy_ports_are_told_by_their_owners() -> None:
    """Of many only the first are named; what holds them is ended as a whole."""
    ports = {f"p{number}": 7000 + number for number in range(9)}
    first, held = "7000 (`p0` of router)", "in use by the run `other-1`"
    ours = Answer(yes=False, text=held, run="other-1")
    world: dict[Question, Answer] = {Port(6100): busy(), **{Port(number): ours for number in ports.values()}}
    findings, _ = settle(job(), world, plan(**ports))
    assert [(f.message, f.help) for f in findings] == [
        (
            "port 6100 (`http` of worker-0) is in use by `x` (pid 7, user bob)",
            "`--set ports.shift=100` moves every port",
        ),
        (
            f"ports {first}, 7001 (`p1` of router), 7002 (`p2` of router), 7003 (`p3` of router) and 5 more are {held}",
            "`launch down other-1` stops it; or `--set ports.shift=100` moves every port",
        ),
    ]


def test_nowhere_to_move() -> None:
    everything: dict[Question, Answer] = {Port(number): busy() for number in range(65536)}
    findings, _ = settle(job(), everything, plan())
    assert findings[0].help == "end the other program, or `--set ports.shift=N` with an N whose ports are free"


def test_a_shift_past_the_last_port_is_not_proposed() -> None:
    findings, _ = settle(job(), {Port(6100): busy()}, plan(high=65500))
    assert findings[0].help == "end the other program, or `--set ports.shift=N` with an N whose ports are free"


CASES: list[tuple[Question, Answer, str, str, int]] = [
    (Variable("TOKEN"), Answer(yes=False), "variable-absent", "`TOKEN` is not set in this shell", 1),
    (
        Program("cat"),
        busy("`cat` is not on `PATH`"),
        "program-absent",
        "roles `worker` and `router`: `cat` is not on `PATH`",
        4,
    ),
    (Module("python", "engine"), busy("no module"), "program-absent", "role `worker`: no module", 4),
    (Program("/opt/route"), busy("gone"), "program-absent", "role `router`: gone", 4),
    (Syntax("echo"), busy("line 1: no"), "setup-syntax", "bash cannot parse the preamble: line 1: no", 3),
    (Syntax("ulimit -n 9"), busy("line 1: no"), "setup-syntax", "bash cannot parse the preamble: line 1: no", 3),
]


@pytest.mark.parametrize(("question", "answer", "code", "message", "status"), CASES)
def test_one_fault(question: Question, answer: Answer, code: str, message: str, status: int) -> None:
    findings, _ = settle(job(setup="echo", env_from=("TOKEN",)), {question: answer}, plan())
    assert (findings[0].code, findings[0].message, findings[0].exit) == (code, message, status)
    # However many roles it concerns.
    assert [finding.code for finding in findings] == [code]


def test_the_roles_that_want_the_same_are_named_with_their_places() -> None:
    text = parse(
        "r.toml", 'schema = 1\nname = "r"\n[roles.worker]\nenv_from = ["TOKEN"]\n[router]\nenv_from = ["TOKEN"]\n'
    )
    work = job(env_from=("TOKEN",))
    paths: tuple[KeyPath, ...] = ("roles", "worker", "env_from"), ("router", "env_from")
    origins = [Origins({("env_from",): (Origin(text, path, "recipe"),)}, text) for path in paths]
    roles = tuple(replace(role, origins=own) for role, own in zip(work.roles, origins, strict=True))
    findings, _ = settle(replace(work, roles=roles), {Variable("TOKEN"): Answer(yes=False)}, plan())
    [told] = findings
    assert told.notes == ("wanted by roles `worker` and `router`",)
    assert told.place is not None and told.place.span().start < told.labels[0].place.span().start
    assert [label.message for label in told.labels] == ["role `router`"]


def test_a_role_that_the_router_brings_along_is_shown_at_the_router() -> None:
    text = parse("r.toml", 'schema = 1\nname = "r"\n[router]\nkind = "x"\n')
    shipped = parse("x.toml", '[[implies]]\nmanifest = "y"\n')
    home = Origin(text, ("router", "kind"), "recipe")
    manifest = Origin(shipped, ("implies", 0, "manifest"), "role manifest")
    origins = Origins({(): (home,), ("manifest",): (manifest,)}, text)
    work = job(env_from=("TOKEN",))
    work = replace(work, roles=tuple(replace(role, origins=origins) for role in work.roles))
    needed = next(each for each in settle(work, {}, plan())[1][0] if isinstance(each, Program))
    findings, _ = settle(work, {needed: Answer(yes=False)}, plan())
    assert [each.place.document.name for each in findings if each.place] == ["r.toml"]


def test_another_version_than_is_checked_is_a_warning() -> None:
    known = Catalogue("m", "1.2", {})
    work = job()
    work = replace(work, roles=tuple(replace(role, version="1.2", catalogue=known) for role in work.roles))
    asked = Installed("python", "m"), Installed("/opt/route", "m")
    findings, rounds = settle(work, {asked[0]: Answer(yes=True, text="1.3"), asked[1]: busy()}, plan())
    assert {*asked} <= {*rounds[0]}
    (told,) = findings
    assert (told.code, told.severity) == ("program-version", Severity.WARNING)
    assert told.message == "m of role `worker` is 1.3, and 1.2 is checked"
    assert told.help == 'say `version = "1.3"` in the role, or install 1.2'
    for same in ("1.2", "1.2+cu130"):
        assert settle(work, {one: Answer(yes=True, text=same) for one in asked}, plan())[0] == []


def test_module_comes_with_the_words_that_install_it() -> None:
    findings, _ = settle(job(), {Module("python", "engine"): busy("no module")}, plan())
    assert findings[0].help == "`python -m pip install engine==1.2`"


@pytest.mark.parametrize("code", AUDITS)
def test_each_audit_has_its_page(code: str) -> None:
    assert AUDITS[code].__name__.replace("_", "-") == code
    summary, blank, *rest = (AUDITS[code].__doc__ or "").split("\n")
    assert summary and not blank and rest
