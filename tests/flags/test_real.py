"""What we accept of a program's flags its own parser takes, what we refuse it refuses; differences are listed."""

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

from launcher.execute import harvest
from launcher.model.catalogue import Catalogue, load
from launcher.model.grammar import Grammar
from tests.flags import sources
from tests.flags.real import Real, ours, theirs
from tests.flags.uses import Use, uses

MANY = 2200
"""Uses of each version in every run; `make test-all` takes all there are."""
SLOW = {"aiperf": 150}
"""Programs whose parser takes a tenth of a second for a command line."""
FLAGS = sources.ROOT / "manifests" / "flags"

LISTED = {
    ("*vllm", "quantization-config.targets"): "its class knows which layers and schemes there are",
    ("*vllm", "compilation-config.custom_ops"): "its class knows how an entry is spelt",
    ("*vllm", "compilation-config.inductor_passes"): "its class imports what the values name",
    ("*vllm", "attention-config.backend_per_kind"): "its class knows the kinds of caches",
    ("*vllm", "eplb-config.communicator"): "its class knows which of them work asynchronously",
    ("*vllm", "structured-outputs-config.reasoning_parser"): "older versions know the parsers by then",
    ("*vllm", "kv-transfer-config.kv_connector"): "no name is a name to older versions",
    ("*vllm", "device-ids"): "numbers and empty words are ids to some versions",
    ("*vllm", "config"): "the file is read at once, and is not there",
    ("aiperf", "extra-inputs"): "it takes lists of pairs too",
    ("aiperf", "url"): "it gets a scheme",
    ("aiperf", "input-file"): "it is looked for at once, and is not there",
    ("aiperf", "model-names"): "numbers and nothing are texts in a list",
    ("aiperf", "mlflow-*"): "a number is text in a list, or what a text spells",
    ("aiperf", "gpu-telemetry"): "nothing is a text in a list",
    ("aiperf", "otel-*"): "nothing is a text in a list",
    ("aiperf", "server-metrics*"): "a number is text in a list, and the texts of a list are its formats",
    ("aiperf", "wandb-*"): "nothing is a text in a list",
    ("dynamo.*", "model-path"): "the directory is looked for at once, and is not there",
    ("dynamo.*", "ais-perf-config"): "the file is read at once, and is not there",
    ("dynamo.*", "router-conditional-disagg-config.*_threshold"): "a number may not be written as text",
    ("*sglang", "config"): "the parser alone takes any name; the server reads the file before it parses",
}
"""Where we differ, and why."""
CHAINS = ("dynamo.sglang", "dynamo.trtllm", "dynamo.vllm")
"""Several parsers one after another, of which each looks by itself what a flag is short for: where we find it short
for two, one of them may take it.
"""


BASES = {"sglang": ("--model-path", "m"), "aiperf": ("-H", "a:b")}
"""What a program cannot do without."""


class Asked(NamedTuple):
    """A program's parser, and where its Python is."""

    program: str
    version: str
    order: Callable[[], dict[str, object]]
    words: tuple[str, ...]
    base: tuple[str, ...] = ()


def engine(program: str, version: str) -> Asked:
    """An engine, from its source."""

    def order() -> dict[str, object]:
        return harvest.order(sources.grammar(program), *sources.source(program, version))

    base = BASES.get(program.rpartition(".")[2], ())
    return Asked(program, version, order, (sys.executable, "-I", "-S"), base)


def router(program: str, version: str, python: str = sys.executable) -> Asked:
    """A router, as it is installed."""
    return Asked(program, version, lambda: harvest.order(sources.grammar(program), None, None), (python,))


def beside(name: str) -> str:
    """The Python of one of the environments that `make setup` makes."""
    return str(Path(sys.prefix).parent / f".venv-{name}" / "bin" / "python")


ROUTERS = [
    router("smg", "1.13.0"),
    router("smg", "1.11.0", beside("smg-1.11.0")),
    router("vllm-router", "0.1.17"),
    router("sglang-router", "0.3.2", beside("sglang-router")),
]
ENGINES = [engine(program, version) for program, versions in sources.VERSIONS.items() for version in versions]
EVERY = [engine(program, version) for program, versions in sources.ALL.items() for version in versions]


def differences(asked: Asked, catalogue: Catalogue, drawn: list[Use]) -> Iterator[tuple[Use, str, str]]:
    """Each use that one side takes and the other refuses, with what both say."""
    with Real(asked.words, asked.order(), asked.base) as real:
        for use in drawn:
            mine = ours(catalogue, use, asked.program)
            taken, said = theirs(real, catalogue, use)
            if taken != (not mine):
                yield use, mine[0] if mine else "accepted", said


def place(catalogue: Catalogue, use: Use) -> str:
    """The flag of a use by its own name, and the field where it is of one."""
    flag = catalogue.find(use.key)
    if flag is None:
        return use.key
    field = next(iter(use.value), None) if isinstance(use.value, dict) and not flag.within else None
    return f"{flag.key}.{field}" if field else flag.key


def listed(asked: Asked, catalogue: Catalogue, use: Use) -> bool:
    """Whether there is a reason to differ there."""
    key = place(catalogue, use)
    if asked.program in CHAINS and catalogue.find(use.key) is None:
        return sum(spelling.startswith(f"--{key}") for spelling in catalogue.spelt) > 1
    flag = catalogue.find(use.key)
    if asked.program == "aiperf" and flag and flag.kind == "float" and use.value in (flag.minimum, flag.maximum):
        # Some of its bounds are not taken themselves, which no catalogue says of fractions.
        return True
    return any(fnmatch(asked.program, one) and fnmatch(key, other) for one, other in LISTED)


def agree(asked: Asked, most: int | None) -> str:
    """Compares, and returns the figure; fails where a difference is not listed."""
    text = (FLAGS / asked.program / f"{asked.version}.json").read_text(encoding="utf-8")
    catalogue = load(text)
    made = list(uses(catalogue))
    for seed in itertools.count(1):
        if len(made) >= MANY:
            break
        made += uses(catalogue, seed)
    drawn = made if most is None else random.Random(1).sample(made, most)
    found = list(differences(asked, catalogue, drawn))
    known = [one for one in found if listed(asked, catalogue, one[0])]
    strange = [one for one in found if one not in known]
    assert not strange, "\n".join(f"{use}\n  ours: {mine}\n  theirs: {said}" for use, mine, said in strange[:20])
    share = 100 * (len(drawn) - len(found)) / len(drawn)
    return f"{asked.program} {asked.version}: {len(drawn)} uses, {share:.2f} % agree, {len(known)} listed"


@pytest.mark.parametrize("asked", [*ENGINES, *ROUTERS], ids=lambda one: f"{one.program}-{one.version}")
def test_the_real_parser_agrees(asked: Asked, figure: Callable[[str], None]) -> None:
    figure(agree(asked, SLOW.get(asked.program, MANY)))


@pytest.mark.heavy
@pytest.mark.parametrize("asked", [*EVERY, *ROUTERS], ids=lambda one: f"{one.program}-{one.version}")
def test_the_real_parser_agrees_on_every_use(asked: Asked, figure: Callable[[str], None]) -> None:
    figure(agree(asked, None))


@pytest.mark.heavy
@pytest.mark.parametrize("asked", EVERY, ids=lambda one: f"{one.program}-{one.version}")
def test_the_shipped_catalogue_is_the_wheel(asked: Asked) -> None:
    made: Grammar = sources.grammar(asked.program)
    raw = harvest.ask(asked.words, asked.order())
    converted = harvest.convert(made, raw["version"], raw, harvest.source(made))
    text = (FLAGS / asked.program / f"{asked.version}.json").read_text(encoding="utf-8")
    assert converted.catalogue == load(text)
