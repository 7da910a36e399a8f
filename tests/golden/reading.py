"""The steps of a plan as what they run sees them: every late reference bound, flags and files by their names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launcher.plan.step import Plan
from launcher.run.script import bind, to_data

EVERYWHERE, LOOPBACK = "0.0.0.0", "127.0.0.1"
RUN = "/run-directory"
_NODES = 200

SLOTS = {
    "run": RUN,
    "python": "python3",
    **{f"ip{node}": f"10.0.0.{node + 1}" for node in range(_NODES)},
    **{f"host{node}": f"node{node}" for node in range(_NODES)},
}


@dataclass(frozen=True)
class Address:
    """A port on a node that a step binds (`host` is the address it binds) or is told of (the one it calls), and `what`
    for.
    """

    step: str
    node: int
    host: str
    port: int
    what: str


@dataclass(frozen=True)
class Read:
    """A step as what it runs sees it: `flags` have each time a flag is given, with the values behind it."""

    name: str
    node: int
    words: Sequence[str]
    env: Mapping[str, str]
    ports: Mapping[str, int]
    flags: Mapping[str, Sequence[Sequence[str]]]
    files: Mapping[str, Any]

    def one(self, flag: str, default: str = "") -> str:
        """The value of a flag that is given once."""
        given = self.flags.get(flag, [[default]])
        assert [len(values) for values in given] == [1], f"{self.name}: --{flag} {given}"
        return given[0][0]

    def number(self, flag: str, default: int = 0) -> int:
        return int(self.one(flag, str(default)))

    def bound(self, what: str, host: str, *ports: int) -> Iterator[Address]:
        """Ports that the step listens on, on its own node."""
        for port in ports:
            yield Address(self.name, self.node, host, port, what)

    def called(self, what: str, host: str, port: int) -> Address:
        """What the step is told of: itself where it is told of loopback."""
        node = self.node if host in ("localhost", LOOPBACK) else _node(host)
        return Address(self.name, node, LOOPBACK if host == "localhost" else host, port, what)

    def file(self, flag: str) -> Any:
        """The data of the file of the run directory that a flag names."""
        return self.files[self.one(flag).removeprefix(f"{RUN}/")]


def read(plan: Plan) -> list[Read]:
    """The steps of a plan with every late reference bound."""
    data = bind(to_data(plan), SLOTS)
    files = {file["path"]: file["data"] for file in data["files"]}
    return [
        Read(
            step["name"],
            step["nodes"][0],
            step["words"],
            step["env"],
            step["ports"],
            _flags(own(step["words"])),
            files,
        )
        for step in data["steps"]
    ]


def own(words: Sequence[str]) -> Sequence[str]:
    """Words without those of the simulated engine that passes for the program."""
    return words[words.index("--") + 1 :] if "--as" in words else words


def _flags(words: Sequence[str]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    values: list[str] = []
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            values = [value] if equals else []
            found.setdefault(name, []).append(values)
        else:
            values.append(word)
    return found


def _node(host: str) -> int:
    matched = re.fullmatch(r"10\.0\.0\.(\d+)|node(\d+)", host)
    assert matched, f"`{host}` is the address of no node"
    return int(matched[1]) - 1 if matched[1] else int(matched[2])


def split(url: str) -> tuple[str, int]:
    """Host and port of a URL or an address."""
    host, _, port = url.rpartition("://")[2].partition("/")[0].rpartition(":")
    return host, int(port)
