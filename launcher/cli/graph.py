"""A plan as a picture: text for a terminal, Mermaid for a document."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from launcher.plan.step import Plan
from launcher.run.script import shown


def text(plan: Plan) -> str:
    """The way of a request, left to right: client, the step that owns the public port, what is behind it."""
    front, behind = _front(plan), _behind(plan)
    head = f"client ──{shown(plan.url)}──▶ {front}"
    if not behind:
        return head
    lines = [f"{_tee(index, len(behind))}─▶ {label}" for index, label in enumerate(behind)]
    return "\n".join([f"{head} ─{lines[0]}", *(f"{' ' * len(head)}  {line}" for line in lines[1:])])


def mermaid(plan: Plan) -> str:
    """The same as a Mermaid flowchart."""
    lines = ["flowchart LR", f'    client -- "{shown(plan.url)}" --> front["{_front(plan)}"]']
    lines += [f'    front --> worker{index}["{label}"]' for index, label in enumerate(_behind(plan))]
    return "\n".join(lines)


GRAPHS: Mapping[str, Callable[[Plan], str]] = {"text": text, "mermaid": mermaid}
"""Value of `--graph` → the picture."""


def _tee(index: int, count: int) -> str:
    if count == 1:
        return "─"
    if index == 0:
        return "┬"
    return "└" if index == count - 1 else "├"


def _front(plan: Plan) -> str:
    port = _port(plan.url)
    return next((step.name for step in plan.steps if port in step.ports.values()), plan.served_name)


def _behind(plan: Plan) -> list[str]:
    front = _front(plan)
    modes = {"aggregate": "", "prefill": " prefill", "decode": " decode"}
    return [
        f"{endpoint.name}{modes[endpoint.mode]} :{_port(endpoint.url)}"
        for endpoint in plan.endpoints
        if endpoint.name != front
    ]


def _port(url: str) -> int:
    tail = urlsplit(shown(url)).netloc.rpartition(":")[2]
    return int(tail) if tail.isdigit() else 0
