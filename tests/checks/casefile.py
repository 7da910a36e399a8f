"""Cases in text files: what somebody wrote, and every word `launch check` answers.

A file is one code. Each case begins with the words after `launch check`, then come the files it reads and,
after a line `---`, the findings in full (none: nothing was found). `@long@` stands for 128 KiB of text, `@latin@`
for a byte that is not UTF-8, `@cr@` for a carriage return.

    === recipe.toml --cluster site.toml
    --- recipe.toml
    schema = 1
    --- site.toml
    schema = 1
    ---
    error[missing-key]: …
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.checks import check, spoken
from launcher.execute.adapters import load
from launcher.execute.library import Files
from launcher.model.job import Job
from launcher.model.link import Edit, Request, Unlinked, link
from launcher.roles.base import Adapters
from launcher.text.diagnostic import Diagnostic, Refused
from launcher.text.report import full

ROOT = Path(__file__).parents[2]
STAND_INS = {b"@long@": b"x" * 128 * 1024, b"@latin@": b"\xe4", b"@cr@": b"\r"}


@dataclass(frozen=True)
class Case:
    """`words` of the command line, files by name, and the findings as text."""

    words: str
    files: dict[str, str]
    findings: str

    def request(self) -> Request:
        recipe, *rest = shlex.split(self.words)
        cluster, edits = "local", []
        for option, value in zip(rest[::2], rest[1::2], strict=True):
            if option == "--cluster":
                cluster = value
            else:
                edits.append(Edit(value, unset=option == "--unset"))
        return Request(recipe, cluster, edits=tuple(edits))

    def job(self, folder: Path) -> Job:
        """The job, with the case's files in `folder`. Raises Refused."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_filled(text.encode()))
        return link(Files({}, site=folder / "nowhere", directory=folder), self.request())

    def run(self, folder: Path) -> Sequence[Diagnostic]:
        """What link and check find."""
        try:
            job = self.job(folder)
        except Unlinked as refused:
            return [*refused.diagnostics, *(spoken(refused.job) if refused.job else ())]
        except Refused as refused:
            return refused.diagnostics
        return check(job, adapters(job))


def adapters(job: Job) -> Adapters:
    """One for every role."""
    return load({role.manifest.adapter for role in job.roles})


def _filled(text: bytes) -> bytes:
    for mark, meant in STAND_INS.items():
        text = text.replace(mark, meant)
    return text


def read(text: str) -> list[Case]:
    cases = []
    for block in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        words, _, rest = block.partition("\n")
        *files, findings = re.split(r"^---", rest, flags=re.MULTILINE)
        named = dict(part[1:].split("\n", 1) for part in files if part)
        cases.append(Case(words, named, findings.removeprefix("\n").rstrip("\n")))
    return cases


def write(cases: Sequence[Case]) -> str:
    return "\n".join(_written(case) for case in cases)


def _written(case: Case) -> str:
    files = "".join(f"--- {name}\n{text}" for name, text in case.files.items())
    return f"=== {case.words}\n{files}---\n" + (f"{case.findings}\n" if case.findings else "")


def drawn(findings: Sequence[Diagnostic], folder: Path) -> str:
    """The findings as `launch check` prints them, without the folders they were found in."""
    return full(findings).replace(f"{folder}/", "").replace(f"{ROOT}/", "")
