"""A plan in words and lines that people like to read."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from launcher.cli.table import table
from launcher.cli.terminal import paint
from launcher.plan.step import Plan, Step
from launcher.run.script import CLOSE, OPEN, Expect, Gate, shown
from launcher.text.secret import mask

_FLAG = re.compile(r"--?[A-Za-z]")
_OURS = "LAUNCH_"
"""Variables every step gets; `launch render` shows them."""

HEADER = ("step", "role", "node", "gpus", "cpus", "memory", "ports", "after", "ready when")


def overview(plan: Plan, *, color: bool = False) -> str:
    """What runs, then how: steps as a table, commands, files, scrape targets; what looks like a secret is masked."""
    sections = [
        _headline(plan),
        table(HEADER, [_row(step, plan) for step in plan.steps], color=color),
        "\n\n".join([paint("commands", "1", color), *(_command(step, others) for step, others in _firsts(plan.steps))]),
    ]
    if plan.files:
        rows = [(shown(file.path), f"{file.mode:04o}") for file in plan.files]
        sections.append(f"{paint('files in the run directory', '1', color)}\n{_indent(table(('path', 'mode'), rows))}")
    if plan.targets:
        rows = [(target.step, f"http://{shown(target.address)}{target.path}") for target in plan.targets]
        sections.append(f"{paint('metrics', '1', color)}\n{_indent(table(('step', 'url'), rows))}")
    return mask("\n\n".join(sections))


def gate(gate: Gate) -> str:
    """A gate in a few words: `/health`, `/workers (4 conditions)`, `port 6100 open`, `a completion`."""
    address = urlsplit(shown(gate.url))
    if gate.kind == "tcp":
        return f"port {address.netloc.rpartition(':')[2]} open"
    if gate.kind == "complete":
        return "a completion"
    conditions = len(gate.expect)
    return f"{address.path or '/'} ({conditions} condition{'s' * (conditions > 1)})" if conditions else address.path


def gate_in_full(gate: Gate) -> str:
    """A gate as one line with everything it asks."""
    wanted = [f"status {gate.status}"] if gate.kind == "http" else []
    wanted += [expectation(expect) for expect in gate.expect]
    if gate.kind == "complete":
        wanted.append(f"completes as `{gate.model}`")
    return f"{gate.kind} {shown(gate.url)}" + (f"  {', '.join(wanted)}" if wanted else "")


def expectation(expect: Expect) -> str:
    """What a gate wants to see in an answer: `2 in workers[is_healthy=True]`."""
    where = "".join(f"[{key}={value}]" for key, value in expect.where.items())
    at = f"{expect.at or 'answer'}{where}"
    if expect.count is not None:
        return f"{expect.count} in {at}"
    return f"{at} has {expect.has!r}" if expect.has is not None else f"{at} = {expect.equals!r}"


def words(argv: Sequence[str]) -> Iterator[str]:
    """Command words on lines, each flag with its values on one of its own, quoted as for a shell."""
    line: list[str] = []
    for word in argv:
        if line and _FLAG.match(word) and (len(word) > 2 or line[0].startswith("-")):
            yield " ".join(line)
            line = []
        line.append(quoted(word))
    yield " ".join(line)


def quoted(word: str) -> str:
    """`word` as a shell wants it, a late reference in it as `{ip0}`, which alone needs no quotes."""
    plain = word.replace(OPEN, "").replace(CLOSE, "")
    return shown(word) if plain and shlex.quote(plain) == plain else shlex.quote(shown(word))


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,6` for 0, 1, 2, 3, 6."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _headline(plan: Plan) -> str:
    steps, nodes = (f"{n} {what}{'s' * (n != 1)}" for n, what in ((len(plan.steps), "step"), (plan.nodes, "node")))
    return (
        f"{plan.name} on {plan.cluster}: {steps} on {nodes}, ready within {plan.timeout:g} s\n"
        f"model {plan.served_name} at {shown(plan.url)}"
    )


def _row(step: Step, plan: Plan) -> tuple[str, ...]:
    return (
        step.name,
        step.role,
        ranges(step.nodes),
        ranges(step.gpus),
        "" if step.cpus is None else str(step.cpus),
        "" if step.memory is None else size(step.memory),
        ", ".join(f"{name} {number}" for name, number in step.ports.items()),
        _after(step, plan),
        ", ".join(gate(one) for one in step.gates) or ("running" if step.lasting else "exit 0"),
    )


def _after(step: Step, plan: Plan) -> str:
    # A role all of whose steps are waited for is named once: `worker (8)`.
    said, left = [], list(step.after)
    for role in dict.fromkeys(other.role for other in plan.steps):
        steps = [other.name for other in plan.steps if other.role == role]
        if len(steps) > 2 and set(steps) <= set(left):
            said.append(f"{role} ({len(steps)})")
            left = [name for name in left if name not in steps]
    return ", ".join([*said, *left])


def _firsts(steps: Sequence[Step]) -> Iterator[tuple[Step, list[str]]]:
    for role in dict.fromkeys(step.role for step in steps):
        first, *others = [step for step in steps if step.role == role]
        yield first, [step.name for step in others]


def _command(step: Step, others: Sequence[str]) -> str:
    like = f"   (and {len(others)} like it: {', '.join(others[:4])}{' …' * (len(others) > 4)})" if others else ""
    lines = [f"{step.name}{like}", *_image(step)]
    lines += [f"  {name}={quoted(value)}" for name, value in step.env.items() if not name.startswith(_OURS)]
    lines += [f"  {name}=…  from the submitting shell" for name in step.env_from]
    if step.setup:
        lines.append(f"  preamble {shown(step.setup)}")
    if step.baked:
        lines.append(f"  preamble baked into the image, from {step.baked}")
    first, *more = words(step.words)
    lines += [f"  {first}", *(f"    {line}" for line in more)]
    return _indent("\n".join(lines))


def _image(step: Step) -> Iterator[str]:
    if step.reference is not None:
        yield f"  image {step.image} = {shown(step.reference)}" if step.image else f"  image {shown(step.reference)}"


def size(mebibytes: int) -> str:
    """Memory as people read it: `800 GiB`."""
    return f"{mebibytes // 1024} GiB" if mebibytes % 1024 == 0 else f"{mebibytes} MiB"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.split("\n"))
