"""The pages of `docs/reference/`, made from models, checks and the command line itself."""

import argparse
import json
import re
from collections.abc import Iterator, Mapping

from docs import keys
from launcher.cli import help_text, parser, verbs
from launcher.cli.explain import explanations
from launcher.model.schema import schemas

NOTE = "<!-- Written by `make docs`; change the code instead. -->\n\n"

TITLES = {
    "recipe": "Recipe",
    "manifest": "Role manifest",
    "cluster": "Cluster",
    "config": "Configuration",
    "lock": "Lock",
    "image": "Image definition",
}

INTROS = {
    "recipe": "One deployment: `recipes/*.toml`, or a file of your own. `extends`, `[variants.NAME]` and "
    "`[on.CLUSTER]` hold the same keys again and are merged in before this table is read (see [the guide on "
    "recipes](../guides/writing-a-recipe.md)). Unknown keys are errors.",
    "manifest": "Everything about a kind of container that is data: `manifests/*.toml`, or a file of your own (see "
    "[the guide on role manifests](../guides/writing-a-role-manifest.md)). Unknown keys are errors.",
    "cluster": "Where roles run and what names mean there: `images/clusters/*.toml`, overlaid by files of the same "
    "name in `/etc/launch/clusters/`, `$XDG_CONFIG_HOME/launch/clusters/` and by `--cluster FILE`. `launch config "
    "path` says which files made the result. Unknown keys are errors.",
    "config": "What holds for every command: `$XDG_CONFIG_HOME/launch/config.toml` (`~/.config/launch/config.toml`), "
    "above `/etc/launch/config.toml` of the site. Unknown keys are errors.",
    "lock": "What the image aliases of a project were when they were locked: `launch.lock`, beside the recipes or "
    "above them, written by `launch images lock` (see [the guide on images](../guides/images.md)). Unknown keys are "
    "errors.",
    "image": "What an image is made from: `images/NAME/image.toml`, beside a `Containerfile` and a `NAME.def`; "
    "shipped, in `/etc/launch/images/`, `$XDG_CONFIG_HOME/launch/images/`, or in `images/` of a project (see [the "
    "guide on images](../guides/images.md)). Unknown keys are errors.",
}


def pages() -> Mapping[str, str]:
    """File name below `docs/reference/` → text."""
    made = {"cli.md": cli(), "checks.md": checks(), "exit-codes.md": exit_codes(), "README.md": index()}
    made = {name: NOTE + text for name, text in made.items()}
    for name, schema in schemas().items():
        made[f"{name}.md"] = NOTE + keys.page(TITLES[name], INTROS[name], schema)
        made[f"schemas/{name}.json"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    return made


def index() -> str:
    """The list of pages."""
    lines = ["# Reference", "", "Generated from the code by `make docs`, compared with it by `make check`.", ""]
    lines += [f"- [{title}]({name}.md) ([JSON Schema](schemas/{name}.json))" for name, title in TITLES.items()]
    lines += ["- [Command line](cli.md)", "- [Exit codes](exit-codes.md)"]
    lines += ["- [Findings](checks.md): what `launch explain CODE` prints"]
    return "\n".join(lines) + "\n"


def exit_codes() -> str:
    """The exit codes, in order, from where `launch --help` has them."""
    said = help_text().partition("exit codes\n")[2]
    found = {int(code): meaning for code, meaning in re.findall(r"\b(\d+)  (\S.*?)(?=\s{2,}|\n|$)", said)}
    lines = ["# Exit codes", "", "| code | means |", "|---|---|"]
    lines += [f"| {code} | {found[code]} |" for code in sorted(found)]
    lines += ["", "Of several findings that differ the first of 3, 2, 4, 5, 1 counts."]
    return "\n".join(lines) + "\n"


def checks() -> str:
    """Every code a finding can have, with its page."""
    lines = ["# Findings", "", "`launch explain CODE` prints the same text.", ""]
    for code, text in sorted(explanations().items()):
        lines += [f"## {code}", "", "```text", text.strip(), "```", ""]
    return "\n".join(lines)


def cli() -> str:
    """`launch --help` and every verb with its options."""
    lines = ["# Command line", "", "```console", "$ launch --help", help_text().rstrip(), "```", ""]
    for verb, (_, what) in verbs().items():
        lines += [f"## launch {verb}", "", f"{what[0].upper()}{what[1:]}.", "", *arguments(parser(verb)), ""]
    return "\n".join(lines)


def arguments(made: argparse.ArgumentParser) -> Iterator[str]:
    """A table of the options, from the parser's actions: help's own layout differs between Pythons."""
    actions = [action for action in made._actions if action.help is not argparse.SUPPRESS and action.dest != "help"]
    if not actions:
        return
    yield "| argument | meaning |"
    yield "|---|---|"
    for action in actions:
        value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else None)
        value = "" if action.nargs == 0 else str(value or action.dest.upper())
        words = ", ".join(f"{option} {value}".strip() for option in action.option_strings) or value
        repeated = " …" if action.nargs in {"*", "+"} else ""
        yield f"| {_cell(f'`{words}{repeated}`')} | {_cell(action.help or '')} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
