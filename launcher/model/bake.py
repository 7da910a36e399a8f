"""Whether an image was baked with just the preamble that a role has: by a digest of all that the preamble came from.

That is the cluster's text and the role's own, to the byte, and the values of the role's variables that count for
them: those whose names stand in a text, and what tells pip and uv what to install.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

_INSTALLERS = ("PIP_", "UV_")
_OF_A_RUN = ("LAUNCH_", "SLURM_", "SLURMD_", "PMI_", "PMIX_")
_OF_A_STEP = ("CUDA_VISIBLE_DEVICES",)
_NAME = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]*")


def digest(texts: Iterable[str], env: Mapping[str, str]) -> str:
    """`sha256:…` of the preambles `texts`, in their order, run with `env`."""
    each = list(texts)
    there = named(each)
    counting = {name: env[name] for name in sorted(env) if name in there or name.startswith(_INSTALLERS)}
    content = json.dumps([each, counting], ensure_ascii=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(content.encode('ascii')).hexdigest()}"


def mark(image: str, setup: str) -> str:
    """What an image is called by that is made from the one of identity `image` and the preamble of digest `setup`."""
    return hashlib.sha256(json.dumps([image, setup]).encode("ascii")).hexdigest()[:32]


def named(texts: Iterable[str]) -> frozenset[str]:
    """Every word of the texts that may be the name of a variable."""
    return frozenset(name for text in texts for name in _NAME.findall(text))


def of_a_run(text: str) -> list[str]:
    """Variables in the text that have another value in each run, so that what they come to cannot be kept."""
    return sorted(name for name in named([text]) if name.startswith(_OF_A_RUN) or name in _OF_A_STEP)
