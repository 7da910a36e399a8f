"""A plan as a picture: text for a terminal, Mermaid for a document."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from launcher.plan.step import Plan
from launcher.run.script import ref, shown


def text(plan: Plan) -> str:
    """The way of a request, left to right: client, the step that owns the public port, what is behind it."""
    front, behind, asked = _front(plan), [" ─▶ ".join(way) for way in _behind(plan)], _asked(plan)
    head = f"client ──{shown(plan.url)}──▶ {front}" + (f" (asks {', '.join(asked)})" if asked else "")
    beside, after = _beside(plan), [step.name for step in plan.steps if not step.lasting]
    more = [f"beside it ─▶ {', '.join(beside)}"] if beside else []
    more += [f"once ready ─▶ {name} ─▶ {front}" for name in after]
    if not behind:
        return "\n".join([head, *more])
    lines = [f"{_tee(index, len(behind))}─▶ {label}" for index, label in enumerate(behind)]
    first = _first(plan)
    below = [f"prompts first ─▶ one of {', '.join(first)}"] if first else []
    return "\n".join([f"{head} ─{lines[0]}", *(f"{' ' * len(head)}  {line}" for line in lines[1:]), *below, *more])


def mermaid(plan: Plan) -> str:
    """The same as a Mermaid flowchart."""
    lines = ["flowchart LR", f'    client -- "{shown(plan.url)}" --> front["{_front(plan)}"]']
    lines += [f'    front -. "asks" .-> asked{index}["{name}"]' for index, name in enumerate(_asked(plan))]
    for index, way in enumerate(_behind(plan)):
        before = f'proxy{index}["{way[0]}"] --> ' if len(way) > 1 else ""
        lines.append(f'    front --> {before}worker{index}["{way[-1]}"]')
        lines += [f'    proxy{index} --> first{number}["{label}"]' for number, label in enumerate(_first(plan))]
    lines += [f'    beside{index}["{label}"]' for index, label in enumerate(_beside(plan))]
    lines += [
        f'    after{index}["{step.name}"] -. "once ready" .-> front'
        for index, step in enumerate(step for step in plan.steps if not step.lasting)
    ]
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
    return _listening(plan).get(plan.url, plan.served_name)


def _listening(plan: Plan) -> Mapping[str, str]:
    """Base URL → the step that listens there. Nodes have the same port numbers for different steps."""
    return {
        f"http://{ref('ip', step.nodes[0])}:{number}": step.name
        for step in plan.steps
        for number in step.ports.values()
    }


def _asked(plan: Plan) -> list[str]:
    """Services that the front waits for: it asks them where requests go."""
    workers, front = {endpoint.name for endpoint in plan.endpoints}, _front(plan)
    waits = next((step.after for step in plan.steps if step.name == front), ())
    roles = {endpoint.role for endpoint in plan.endpoints}
    return [step.name for step in plan.steps if step.name in waits and not {step.name, step.role} & {*workers, *roles}]


def _behind(plan: Plan) -> list[tuple[str, ...]]:
    """What a request comes to behind the front: the worker, and before it the step that is its proxy."""
    front = _front(plan)
    modes = {"aggregate": "", "prefill": " prefill", "decode": " decode"}
    steps, first = _listening(plan), _first(plan)
    return [
        (
            *((f"{steps[endpoint.proxy]} :{_port(endpoint.proxy)}",) if endpoint.proxy else ()),
            f"{endpoint.name}{modes[endpoint.mode]} :{_port(endpoint.url)}",
        )
        for endpoint in plan.endpoints
        if endpoint.name != front and not (first and endpoint.mode == "prefill")
    ]


def _first(plan: Plan) -> list[str]:
    """The prefill workers where a proxy before each decode worker calls them, and not the front."""
    proxied = any(endpoint.proxy for endpoint in plan.endpoints)
    return [
        f"{endpoint.name} :{_port(endpoint.url)}"
        for endpoint in plan.endpoints
        if proxied and endpoint.mode == "prefill"
    ]


def _beside(plan: Plan) -> list[str]:
    """Services that requests do not come by, each with its first port."""
    workers = {endpoint.role for endpoint in plan.endpoints}
    proxies = {way[0].partition(" ")[0] for way in _behind(plan) if len(way) > 1}
    seen = {_front(plan), *_asked(plan), *proxies}
    return [
        " :".join([step.name, *map(str, [*step.ports.values()][:1])])
        for step in plan.steps
        if step.lasting and step.role not in workers and step.name not in seen
    ]


def _port(url: str) -> int:
    tail = urlsplit(shown(url)).netloc.rpartition(":")[2]
    return int(tail) if tail.isdigit() else 0
