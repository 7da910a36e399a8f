"""Flag catalogues made from the program itself: from its wheel, from an interpreter that has it, or from its help."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.execute import inside, wheel
from launcher.execute.conversion import Converted, convert
from launcher.model.grammar import Grammar
from launcher.text.diagnostic import Diagnostic, Refused

MODULES = ("stubs", "jsontypes", "arguments", "parsers", "dump")
"""What runs inside the program's Python, each after those it imports."""

__all__ = ["Converted", "ask", "command", "convert", "failed", "from_python", "from_wheel", "order", "source"]

Order = dict[str, Any]


def from_wheel(grammar: Grammar, version: str | None, place: Path | None = None) -> Converted:
    """The catalogue of a version on PyPI (default: the newest), or of the wheel or unpacked wheel at `place`."""
    folder, name = wheel.cache(), grammar.distribution
    whole = name in grammar.whole
    if place is None:
        tree = wheel.unpacked(_distribution(grammar), version, folder, whole=whole)
    else:
        tree = place.resolve() if place.is_dir() else wheel.extracted(place, folder, whole=whole)
    # Isolated: what else this Python has installed must not change what is found.
    words = [sys.executable, "-I", "-S"]
    pins = wheel.pinned(tree, grammar.beside)
    beside = [wheel.unpacked(*pin, folder, whole=pin[0] in grammar.whole) for pin in pins]
    raw = ask(words, order(grammar, tree, wheel.support(grammar.needs, folder), beside))
    return convert(grammar, raw["version"], raw, source(grammar))


def from_python(grammar: Grammar, words: Sequence[str], version: str | None = None) -> Converted:
    """The catalogue of the program that a Python has; `words` run that Python, on this machine or elsewhere."""
    raw = ask(words, order(grammar, None, None) | ({} if version is None else {"distribution": None}))
    found = version or raw["version"]
    if found is None:
        raise failed(f"{grammar.name} does not say its version: name it after the program")
    # What a build calls itself (`0.33.0+cu130`) says nothing of its flags.
    return convert(grammar, found.partition("+")[0], raw, source(grammar))


def source(grammar: Grammar) -> str:
    """What was asked."""
    if grammar.app:
        return f"the cyclopts application `{grammar.app}`"
    made = f"`{grammar.parser.fill}`" if grammar.parser else f"`python -m {' '.join(grammar.module)}`"
    return f"the argparse parser of {made}"


def order(grammar: Grammar, tree: Path | None, support: Path | None, beside: Sequence[Path] = ()) -> Order:
    """What `inside.dump` is told to do."""
    built: Order = {"module": grammar.module, "chain": grammar.chain, "app": grammar.app}
    if grammar.parser is not None:
        built = {"class": grammar.parser.class_, "fill": grammar.parser.fill}
    return built | {
        "distribution": grammar.distribution,
        "tree": str(tree) if tree else None,
        "beside": [str(each) for each in beside],
        "support": str(support) if support else None,
        "answers": grammar.answers | dict.fromkeys(grammar.nothing),
        "absent": grammar.absent,
        "forced": grammar.forced,
        "set": grammar.set,
        "known": grammar.known,
    }


def ask(words: Sequence[str], wanted: Order, module: str = "dump") -> Mapping[str, Any]:
    """What a module of `inside`, run by the Python that `words` start, prints. Raises Refused where it fails."""
    try:
        done = subprocess.run(
            command(words, wanted, module), check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
    except OSError as error:
        raise failed(f"`{words[0]}` cannot be run: {error.strerror}") from error
    if done.returncode:
        raise failed(f"the program's parser cannot be imported: {_last(done.stderr)}", done.stderr)
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def command(words: Sequence[str], wanted: Order, module: str = "dump") -> list[str]:
    """The command line that runs a module of `inside` in the Python that `words` start: all of it is in the words."""
    folder = Path(inside.__file__).parent
    names = {name: f"{inside.__name__}.{name}" for name in dict.fromkeys((*MODULES, module))}
    texts = {full: (folder / f"{name}.py").read_text(encoding="utf-8") for name, full in names.items()}
    return [*words, "-c", START.format(texts=texts, package=inside.__name__, main=names[module]), json.dumps(wanted)]


START = """\
import sys, types
package = sys.modules[{package!r}] = types.ModuleType({package!r})
for name, text in {texts!r}.items():
    module = sys.modules[name] = types.ModuleType(name)
    setattr(package, name.rpartition(".")[2], module)
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules[{main!r}].main(sys.argv[1])
"""


def failed(message: str, said: str = "") -> Refused:
    """The refusal of a harvest; the last lines of what was `said` are its notes."""
    notes = tuple(line for line in said.splitlines()[-6:] if line.strip())
    return Refused([Diagnostic("harvest-failed", message, None, notes=notes, exit=1)])


def _last(said: str) -> str:
    lines = [line for line in said.splitlines() if re.match(r"\w[\w.]*(Error|Exception|Caught)\b", line)]
    return lines[-1] if lines else (said.strip().splitlines() or ["it said nothing"])[-1]


def _distribution(grammar: Grammar) -> str:
    if grammar.distribution is None:
        raise failed(f"{grammar.name} is no Python distribution")
    return grammar.distribution
