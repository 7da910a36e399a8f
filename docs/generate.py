"""Writes what the documentation can take from the code; `--check` compares instead and changes nothing.

    python -m docs.generate [--check]

Generated: `docs/reference/` whole, and the marked blocks of the README and the guides, which quote the output of
commands (`<!-- $ launch … -->`), whole files (`<!-- file PATH -->`) and what is known of error texts
(`<!-- causes logs -->`) up to the next `<!-- end -->`.
"""

import contextlib
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.causes import table
from docs.pages import pages
from docs.picture import picture

ROOT = Path(__file__).parents[1]
SHOT = ROOT / "docs" / "demo.txt"
"""What `make demo` said once, copied; its picture stands in the README."""
QUOTING = ("README.md", "CONTRIBUTING.md", "docs/guides/*.md", "docs/guides/routers/*.md")
BLOCK = re.compile(
    r"^<!-- (?P<what>\$ launch|file|causes) (?P<rest>.+?) -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL
)


def wanted() -> Mapping[Path, str]:
    """Every generated file with the text it should have."""
    made = {ROOT / "docs" / "reference" / name: text for name, text in pages().items()}
    made[SHOT.with_suffix(".svg")] = picture(SHOT.read_text(encoding="utf-8"))
    for pattern in QUOTING:
        for path in sorted(ROOT.glob(pattern)):
            made[path] = BLOCK.sub(_quoted, path.read_text(encoding="utf-8"))
    return made


def _quoted(found: re.Match[str]) -> str:
    rest = found["rest"]
    if found["what"] == "causes":
        body = table(rest)
    elif found["what"] == "file":
        language = rest.rpartition(".")[2]
        body = f"```{language}\n{(ROOT / rest).read_text(encoding='utf-8').strip()}\n```"
    else:
        body = f"```console\n$ launch {rest}\n{output(rest)}\n```"
    return f"<!-- {found['what']} {rest} -->\n{body}\n<!-- end -->"


def output(words: str) -> str:
    """What a terminal shows for `launch WORDS` on a machine where nobody has configured anything."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_STATE_HOME": f"{home}/state",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "LANG": "C.UTF-8",
        }
        said = _terminal([sys.executable, "-m", "launcher", *words.split()], env)
    if "Traceback" in said or "internal-error" in said:
        raise SystemExit(f"docs: `launch {words}` broke:\n{said}")
    # The interpreter's own path says where this checkout lies, nothing about the product.
    return said.rstrip("\n").replace(sys.executable, "python")


def _terminal(words: list[str], env: Mapping[str, str]) -> str:
    """What a command shows on a terminal: stdout and stderr in the order they came."""
    ours, theirs = os.openpty()
    said = b""
    with subprocess.Popen(words, cwd=ROOT, env=env, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        # Linux says EIO once nobody holds the other side any more.
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                said += part
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def stale(texts: Mapping[Path, str]) -> Iterator[str]:
    """Differences between the files and `texts`, and files of the reference nothing generates any more."""
    for path, text in texts.items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        name = str(path.relative_to(ROOT))
        yield from difflib.unified_diff(old.splitlines(), text.splitlines(), name, f"{name} (generated)", lineterm="")
    for path in sorted((ROOT / "docs" / "reference").rglob("*")):
        if path.is_file() and path not in texts:
            yield f"{path.relative_to(ROOT)}: nothing generates it"


def main() -> int:
    texts = wanted()
    if "--check" in sys.argv[1:]:
        differences = list(stale(texts))
        print("\n".join(differences) if differences else "docs: current")
        if differences:
            print("docs: not current; run `make docs`", file=sys.stderr)
        return 1 if differences else 0
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
