"""What `launch images bake` is to do: the preambles of recipes and role manifests, each image once."""

import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from launcher.cli import arguments, stages
from launcher.cli.guard import Usage
from launcher.execute.library import STDIN, Files
from launcher.model.bake import digest, of_a_run
from launcher.model.cluster import Image
from launcher.model.job import Job, Role
from launcher.model.link import link
from launcher.model.linking import text
from launcher.model.site import Site
from launcher.text.advice import typed
from launcher.text.diagnostic import Diagnostic, Label, Refused

_EMPTY = b'schema = 1\nname = "bake"\n'


@dataclass
class Order:
    """One image to be made: the `alias` and its key, the `base` that `setup` (a digest) is put into, the roles that
    have just that preamble, and names of others that share the alias. `current` is what the alias means now, `lock`
    where the project's lock is, or would be.
    """

    alias: str
    key: str
    image: Image
    current: str
    base: str
    setup: str
    roles: list[Role]
    others: list[str]
    lock: Path


def orders(args: argparse.Namespace, site: Site) -> list[Order]:
    """Every image to be made, in the order of the words. Raises Usage and Refused."""
    if not site.containers:
        message = f"cluster `{site.cluster.name}` starts plain processes: there is no image to bake"
        raise Usage(message, advice="`--cluster` names one with containers")
    found: dict[str, Order] = {}
    for word in args.recipe:
        before = len(found)
        shared = sum(len(order.roles) for order in found.values())
        for role, job, lock in _roles(args, word):
            _add(found, role, job, site, lock)
        if len(found) == before and sum(len(order.roles) for order in found.values()) == shared:
            which = f"role `{'`, `'.join(args.role)}` of `{word}`" if args.role else f"role of `{word}`"
            raise Usage(f"no {which} has a preamble", advice="`setup` or `setup_file` of a role is its preamble")
    return list(found.values())


def _add(found: dict[str, Order], role: Role, job: Job, site: Site, lock: Path) -> None:
    image = site.cluster.images[role.image or ""]
    if image.build is not None:
        message = f"the image of `{role.name}` is built from the definition `{image.build}`"
        build = typed("images build", role.image or image.build, site.option)
        advice = f"let `images/{image.build}/Containerfile` do what its preamble does, then {build}"
        raise Refused([Diagnostic("bake-built", message, role.place("setup"), help=advice)])
    key, current = image.key(site.cluster.arch), image.meant(site.cluster.arch)
    if key is None or current is None or role.image is None or role.preamble is None:
        return  # linking has refused it
    _kept(role)
    derived = image.derived(site.cluster.arch)
    shared = [site.cluster.setup.inline] if site.cluster.setup else []
    setup = digest([*shared, role.preamble], role.env)
    known = found.get(role.image)
    if known is None:
        others = [each.name for each in job.roles if each.image == role.image and each.preamble is None]
        base = derived.base if derived else current
        found[role.image] = Order(role.image, key, image, current, base, setup, [role], others, lock)
    elif known.setup == setup:
        known.roles.append(role)
    else:
        first = known.roles[0]
        message = f"roles `{first.name}` and `{role.name}` have the image alias `{role.image}` and different preambles"
        label = Label(first.place("setup"), f"that of `{first.name}`")
        add = typed("images add ALIAS REFERENCE", site.option)
        advice = f"give one of them an alias of its own ({add}), or bake one alone (`--role`)"
        raise Refused([Diagnostic("bake-twice", message, role.place("setup"), labels=(label,), help=advice)])


def _kept(role: Role) -> None:
    """Raises Refused for a preamble that comes to something else in each run."""
    names = of_a_run(role.preamble or "")
    if names:
        message = f"the preamble of `{role.name}` names `{names[0]}`, which has another value in each run"
        advice = "keep that part out of what is baked: in the role's `env`, or in the cluster's `[setup]`"
        raise Refused([Diagnostic("bake-varies", message, role.place("setup"), help=advice)])


def _roles(args: argparse.Namespace, word: str) -> Iterator[tuple[Role, Job, Path]]:
    """Roles that have a preamble, of a recipe or made of a role manifest alone, with their job and the place of its
    lock.
    """
    files = stages.library()
    if _is_recipe(files, word):
        job = stages.accepted(arguments.request(args, word), files).job
        unknown = [name for name in args.role if name not in {role.name for role in job.roles}]
        if unknown:
            raise Usage(f"`{word}` has no role `{unknown[0]}`", unknown[0], [role.name for role in job.roles])
        roles = (role for role in job.roles if _wanted(role) and (not args.role or role.name in args.role))
        yield from ((role, job, files.lock_path()) for role in roles)
        return
    # As beside a recipe in this folder, which there is none of.
    files = Files(read=lambda: _EMPTY)
    files.recipe(STDIN)
    manifest = files.manifest(word)
    if manifest is None:
        known = [*files.manifests(), *files.recipes()]
        raise Usage(f"`{word}` is neither a recipe nor a role manifest", word, known, "a recipe is named by its file")
    name, text_ = _alone(word, text(manifest.data, "kind") or "service")
    files = Files(read=lambda: text_.encode())
    job = link(files, arguments.request(args, STDIN))
    yield from ((role, job, files.lock_path()) for role in job.roles if role.name == name and _wanted(role))


def _wanted(role: Role) -> bool:
    return bool((role.preamble or "").strip()) and role.reference is not None


def _is_recipe(files: Files, word: str) -> bool:
    if word == STDIN or "/" in word or ".toml" in word:
        return True
    with suppress(Refused):
        files.recipe(word.partition(":")[0])
        return True
    return False


def _alone(name: str, kind: str) -> tuple[str, str]:
    """The role, and a recipe of it alone."""
    document = tomlkit.parse(_EMPTY)
    role = {"engine": "worker"}.get(kind, kind if kind in ("router", "benchmark") else "baked")
    own = {"kind" if kind == "router" else "manifest": name}
    document.update({role: own} if role == kind else {"roles": {role: own}})
    return role, tomlkit.dumps(document)
