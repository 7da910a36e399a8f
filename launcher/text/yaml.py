"""YAML files that recipes name: one document, of what JSON can say too, every key and value with its place."""

from collections.abc import Iterator
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from launcher.text import limits
from launcher.text.diagnostic import Diagnostic, Label, Place, Refused
from launcher.text.document import Document, KeyPath
from launcher.text.locate import Located

NODES = 20_000
"""Values that a file may have, those behind aliases (`*name`) counted as often as they are used."""

CODE = "yaml-syntax"

_PLAIN = ("null", "bool", "int", "float")


def parse(name: str, text: str) -> Document:
    """The document of YAML `text`; `name` is what messages call it. Raises Refused, with a place.

    The top is a mapping. What YAML has beside JSON (dates, sets, tags of programs) is taken as the text it is written
    as, which is what Go's `sigs.k8s.io/yaml` does.
    """
    draft = Document(name, text, {}, {})
    _refuse(list(limits.before(draft))[: limits.FINDINGS])
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except RecursionError:
        raise Refused([_finding(draft, 0, "the text is nested too deep to be read", limits.SHALLOW)]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        help_ = "often an indent, or a text that wants quotes, on this line or the last"
        raise Refused([_finding(draft, mark.index if mark else 0, error.problem or "not YAML", help_)]) from None
    except yaml.reader.ReaderError as error:
        raise Refused([_finding(draft, error.position, "a character that YAML does not take", "take it out")]) from None
    if not isinstance(node, MappingNode):
        raise Refused([_finding(draft, 0, "the file is no mapping", "write `key: value`, a line each")])
    reader = _Reader(draft)
    data = reader.value(node, ())
    _refuse(reader.findings)
    document = Document(name, text, data, reader.located)
    _refuse(list(limits.after(document)))
    return document


def _refuse(findings: list[Diagnostic]) -> None:
    if findings:
        raise Refused(findings)


def _finding(document: Document, offset: int, message: str, help_: str) -> Diagnostic:
    return Diagnostic(CODE, message, Place(document, offset=offset), help=help_)


class _Reader:
    """Turns nodes into values and remembers where they stand."""

    def __init__(self, draft: Document) -> None:
        self.draft = draft
        self.located: dict[KeyPath, Located] = {}
        self.findings: list[Diagnostic] = []
        self._loader = yaml.SafeLoader("")
        self._count = 0

    def value(self, node: Node, path: KeyPath) -> Any:
        """What the node means; nothing where there is too much of it."""
        self._count += 1
        if self._count > NODES or len(path) > limits.LEVELS:
            if not self.findings:
                message = f"the file has more than {NODES} values, or nests them deeper than {limits.LEVELS}"
                self.findings.append(_finding(self.draft, node.start_mark.index, message, limits.SHALLOW))
            return None
        if isinstance(node, MappingNode):
            return dict(self._pairs(node, path))
        if isinstance(node, SequenceNode):
            return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _pairs(self, node: MappingNode, path: KeyPath) -> Iterator[tuple[str, Any]]:
        seen: dict[str, Node] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.findings.append(
                    _finding(self.draft, key.start_mark.index, "a key is no text", "write a word, and `:`")
                )
                continue
            name = str(key.value)
            here = (key.start_mark.index, key.end_mark.index)
            if name in seen:
                self.findings.append(self._twice(name, here[0], seen[name]))
                continue
            seen[name] = key
            inner = isinstance(value, (MappingNode, SequenceNode))
            where = here if inner else (value.start_mark.index, value.end_mark.index)
            self.located[*path, name] = Located(here, where)
            yield name, self.value(value, (*path, name))

    def _twice(self, name: str, offset: int, first: Node) -> Diagnostic:
        place = Place(self.draft, offset=first.start_mark.index, length=len(name))
        return Diagnostic(
            CODE,
            f"the key `{name}` is set twice",
            Place(self.draft, offset=offset, length=len(name)),
            labels=(Label(place, "set here first"),),
            help="keep one of them",
        )

    def _item(self, node: Node, path: KeyPath) -> Any:
        where = (node.start_mark.index, node.end_mark.index)
        if isinstance(node, MappingNode) and node.value:
            first = node.value[0][0]
            where = (first.start_mark.index, first.end_mark.index)
        self.located[path] = Located(where, where)
        return self.value(node, path)

    def _scalar(self, node: Node) -> Any:
        kind = node.tag.rpartition(":")[2]
        if kind not in _PLAIN:
            return str(node.value)
        try:
            return self._loader.construct_object(node)
        except (ValueError, yaml.YAMLError):
            return str(node.value)
