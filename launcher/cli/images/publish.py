"""`launch images publish CHANNEL --in PLACE`: a tag that moves, over the images of all architectures."""

import argparse
import re

from launcher.cli.guard import Usage
from launcher.cli.images import storing
from launcher.cli.terminal import Terminal
from launcher.execute.images import answers, changes, channels
from launcher.execute.images.failure import Failure
from launcher.execute.images.push import Push
from launcher.execute.world import Real

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Prints each reference with its digest; where one is missing nothing is published, and exit code 4."""
    if not _TAG.fullmatch(args.channel):
        raise Usage(f"`{args.channel}` cannot be a tag", advice="letters, digits, `.`, `_`, `-`: `main`, `pr-7`")
    world, site = Real(), storing.site(args)
    plain = frozenset(site.cluster.plain_http)
    jobs = changes.matrix(world, args.name, None, terminal.note).jobs
    push = Push.made(world, plain, terminal.status)
    try:
        found, failures = channels.publish(answers.registry(plain), push, jobs, args.place, args.channel)
    except ValueError as error:
        raise Usage(f"`--in`: {error}", advice="a registry, or a namespace in one: `ghcr.io/team`") from error
    except Failure as failure:
        raise storing.failed(failure) from failure
    finally:
        push.close()
    ended = [storing.failed(failure) for failure in failures]
    for each in ended:
        terminal.note(f"error[{each.code}]: {each.message}")
    for reference in found:
        terminal.say(str(reference).removeprefix("docker://"))
    return ended[0].status if ended else 0
