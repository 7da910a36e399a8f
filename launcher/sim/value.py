"""Values of flags, each refused with a word of why."""

import argparse
import json
import re
from typing import Any

from launcher.sim.group import Address
from launcher.sim.transfer import Transfer
from launcher.sim.transfer import parse as transfer

_PORT = "[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
_ADDRESS = re.compile(f".+:({_PORT})")


def count(text: str) -> int:
    """A whole number from 1."""
    return _least(text, 1)


def index(text: str) -> int:
    """A whole number from 0."""
    return _least(text, 0)


def port(text: str) -> int:
    """A TCP port; 0 asks for a free one."""
    return _between(text, 65535)


def code(text: str) -> int:
    """An exit code."""
    return _between(text, 255)


def seconds(text: str) -> float:
    """Seconds, not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"invalid number of seconds: {text!r}")
    return value


def address(text: str) -> Address:
    """A host and a port, with a colon between."""
    if not _ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"HOST:PORT is wanted, not {text!r}")
    host, _, number = text.rpartition(":")
    return Address(host.strip("[]"), int(number))


def connector(text: str) -> Transfer:
    """The value of `--kv-transfer-config`, refused as vLLM refuses it."""
    try:
        return transfer(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault


def published(text: str) -> Any:
    """The value of `--kv-events-config`, which each engine reads in its own way."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise argparse.ArgumentTypeError(f"JSON is wanted: {fault}") from fault


def _least(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"a whole number from {least} is wanted, not {text!r}")
    return value


def _between(text: str, most: int) -> int:
    value = _least(text, 0)
    if value > most:
        raise argparse.ArgumentTypeError(f"a whole number from 0 to {most} is wanted, not {text!r}")
    return value
