"""Known texts of failing programs, and what to do about them."""

import re
from typing import Iterable, Optional, Tuple

HINTS: Tuple[Tuple[str, str], ...] = (
    (
        r"address already in use|errno 98\b|os error 98\b|EADDRINUSE",
        "another process has the port: `ss -ltnp` names it; `--set ports.shift=N` moves all of ours",
    ),
    (
        r"externally-managed-environment",
        "Debian's pip refuses system-wide installs: `export PIP_BREAK_SYSTEM_PACKAGES=1` in the preamble",
    ),
    (
        r"CUDA out of memory|OutOfMemoryError|CUDA error: out of memory|cudaErrorMemoryAllocation",
        "the GPU's memory does not suffice: lower the engine's memory fraction or batch, or use more GPUs",
    ),
    (
        r"CUDA driver version is insufficient|no CUDA-capable device|NVIDIA_REQUIRE_CUDA",
        "the image needs a newer driver than the node has, or was given no GPU",
    ),
    (
        r"No module named",
        "the environment of this role lacks a Python package: use another image, or install it in a preamble",
    ),
    (r"Exec format error", "the program was built for another architecture than this node's"),
    (r"No space left on device|errno 28\b|os error 28\b", "a file system is full: `df -h` on the node shows which"),
    (r"Read-only file system", "the root is read-only: write to a mount, or give the role a preamble"),
    (r"401 Client Error|gated repo|GatedRepoError", "the model is gated: name the token's variable in `env_from`"),
    (r"Permission denied", "the user of the run may not do that: look at owner and mode of the path named"),
    (
        r"command not found|No such file or directory: '[^/']+'",
        "the program is not on the role's PATH: install it, or name its environment in `image`",
    ),
    (r"Too many open files", "`ulimit -n` is too low for this many connections"),
)
"""Pattern (case does not matter) → hint; the first that is found counts."""

KILLED = "signal 9 came from outside: often the kernel, when memory runs out (`dmesg` tells)"
FULL = "the file system of the run directory is full"


def hint(lines: Iterable[str]) -> Optional[str]:
    """The hint for the first line that has a known text, the most telling line first; None for unknown ones."""
    for line in lines:
        for pattern, advice in HINTS:
            if re.search(pattern, line, re.IGNORECASE):
                return advice
    return None
