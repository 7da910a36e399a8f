"""argparse, with messages that say what to do."""

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from launcher.cli.guard import Usage

_REWRITE: Sequence[tuple[str, str]] = (
    (r"argument (\S+): expected one argument", r"`\1` needs a value"),
    (r"argument (\S+): expected at least one argument", r"`\1` needs a value"),
    (r"argument (\S+): not allowed with argument (\S+)", r"`\1` and `\2` exclude each other"),
    (r"argument (\S+): ignored explicit argument '(.*)'", r"`\1` takes no value, not `\2`"),
    (r"argument (\S+): invalid \S+ value: '(.*)'", r"`\1` does not take `\2`"),
)
"""What argparse says (CPython 3.11 to 3.14) → what we say."""

_MISSING = "the following arguments are required: "
_WHERE = {
    "RECIPE": "a recipe is a file, or one of those that `launch config ls` lists",
    "RUN": "`launch ps` lists the runs, `last` is the newest",
}
"""Missing word → where to find one."""

_BEHIND = {"launch exec": "`--` comes before the command: `launch exec RUN STEP -- COMMAND…`"}
"""Program that takes words of another's → what tells them apart."""

_CHOICE = r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)"


class Parser(argparse.ArgumentParser):
    """A verb's parser: no abbreviations, positions anywhere, faults raised as `Usage`."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            allow_abbrev=False,
            add_help=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("-h", "--help", action="store_true", default=argparse.SUPPRESS, help="show this")

    def asked(self, words: Sequence[str]) -> str | None:
        """The help text, where `words` ask for it (before any `--`)."""
        own = words[: words.index("--")] if "--" in words else words
        return self.format_help() if {"-h", "--help"} & set(own) else None

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """`words` as values; words after `--` are `args.rest`. Raises `Usage`."""
        cut = list(words).index("--") if "--" in words else len(words)
        self._refuse_empty(words[:cut])
        args, unknown = self.parse_known_intermixed_args(list(words[:cut]))
        args.rest = list(words[cut + 1 :])
        if unknown:
            raise self._unknown(unknown[0])
        return args

    def actions(self) -> list[argparse.Action]:
        """Every option and positional word, in order."""
        return list(self._actions)

    def error(self, message: str) -> NoReturn:
        """Overrides argparse's, which prints and ends the process."""
        if found := re.fullmatch(_CHOICE, message):
            known = re.findall(r"[\w.-]+", found[3])
            raise Usage(f"`{found[1]}` does not take `{found[2]}`", found[2], known, f"one of {', '.join(known)}")
        if message.startswith(_MISSING):
            raise self._missing(message.removeprefix(_MISSING).split(", "))
        for pattern, ours in _REWRITE:
            if re.fullmatch(pattern, message):
                raise Usage(re.sub(pattern, ours, message), advice=self._hint())
        raise Usage(message, advice=self._hint())

    def _refuse_empty(self, words: Sequence[str]) -> None:
        # Of a variable that is not set: `down "$RUN"` would mean the only run there is, `--cluster "$S"` the default.
        valued = {name for action in self._actions if action.nargs != 0 for name in action.option_strings}
        for before, word in zip(["", *words], words, strict=False):
            option = before if not word else word.removesuffix("=")
            if not word or (option != word and option in valued):
                what = f"the value of `{option}`" if option in valued else "a word of the command line"
                raise Usage(f"{what} is empty", advice=f"is a variable of the shell not set? {self._hint()}")

    def _missing(self, named: Sequence[str]) -> Usage:
        # argparse counts words that may be left out among them.
        optional = {str(action.metavar) for action in self._actions if action.nargs in {"*", "?"}}
        words = [word for word in named if word not in optional]
        text = " and ".join(f"`{word}`" for word in words)
        hints = [self._hint(), *(_WHERE[word] for word in words if word in _WHERE)]
        return Usage(f"{text} {'are' if len(words) > 1 else 'is'} missing", advice="; ".join(hints))

    def _unknown(self, word: str) -> Usage:
        if not word.startswith("-"):
            return Usage(f"`{word}` is one word too many", advice=_BEHIND.get(self.prog, self._hint()))
        option = word.partition("=")[0]
        known = [name for action in self._actions for name in action.option_strings]
        return Usage(f"there is no option `{option}`", option, known, self._hint())

    def _hint(self) -> str:
        return f"see `{self.prog} --help`"
