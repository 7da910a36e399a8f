"""What answers and metrics tell of a hand-over."""

from typing import Any

from tests.sim.processes import Answer, Program


def how(answer: Answer) -> Any:
    """How the prompt got there, by the answer: `handed-over by NAME`, `recomputed`, or the part played."""
    assert answer.status == 200, answer.body
    sim = answer.data["sim"]
    end = answer.data["system_fingerprint"].partition(":")[2]
    assert end == ("recomputed" if sim["recomputed"] else "handed-over" if sim["handed_over"] else "")
    return f"handed-over by {sim['prefilled_by']}" if sim["handed_over"] else end or sim["part"]


def counted(worker: Program) -> tuple[float, ...]:
    """Prompts computed for others, fetched, recomputed."""
    found = worker.metrics()
    names = ("prefilled", "handed_over", "recomputed")
    return tuple(sum(found[at] for at in found if at.startswith(f"sim:{name}_requests_total")) for name in names)


def grown(before: tuple[float, ...], after: tuple[float, ...]) -> tuple[float, ...]:
    """What was counted in between."""
    return tuple(new - old for old, new in zip(before, after, strict=True))
