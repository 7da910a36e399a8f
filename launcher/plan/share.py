"""A part of a node: the CPUs and the memory that go with some of its GPUs."""

from launcher.model.cluster import Node
from launcher.model.size import mebibytes


def share(node: Node, gpus: int) -> tuple[int | None, int | None]:
    """CPUs and MiB that go with `gpus` GPUs of a node; None where that is unknown, or without GPUs."""
    cpus, memory = whole(node)
    if not gpus or not node.gpus:
        return None, None
    return (
        None if cpus is None else cpus * gpus // node.gpus,
        None if memory is None else memory * gpus // node.gpus,
    )


def whole(node: Node) -> tuple[int | None, int | None]:
    """CPUs and MiB of a node, None where unknown."""
    return node.cpus, None if node.memory is None else mebibytes(node.memory)
