"""Known texts of failing programs, and what to do about them."""

import re
from typing import Iterable, Optional, Tuple

# As `launch` tells of a job whose batch script did not become the supervisor; sh and bash word it differently.
BATCH: Tuple[Tuple[str, str], ...] = (
    (
        r"left no outcome: .*(?:\(exit code 12[67]\)|exec: .*(?:not found|No such file))",
        "the batch script could not start Python: `python` of the cluster file names one that is on every node",
    ),
    (
        r"left no outcome: .*could not open its output file",
        "`runs` of the cluster file must be one folder that all nodes see under that path, and the user may write to",
    ),
)
"""Ends of jobs without a supervisor."""

# As pyxis 0.20 and 0.24, enroot 4.1, Apptainer 1.4 and Slurm 22.05 and 24.11 write them.
CONTAINERS: Tuple[Tuple[str, str], ...] = (
    (
        r"Invalid image format|could not open image|not a squashfs|failed to create container filesystem",
        "the image is absent, cut short or no image: `ls -l` and `file` on the path named, on a compute node",
    ),
    (
        r"failed to import docker image|MANIFEST_UNKNOWN|manifests/\S+ returned error code: 404",
        "the registry has no such image or tag: look at the spelling of the reference in `[images]`",
    ),
    (
        r"UNAUTHORIZED: auth|returned error code: 40[13]|Authenticating with user: <anonymous>",
        "the registry wants credentials: `~/.config/enroot/.credentials`, or APPTAINER_DOCKER_USERNAME and _PASSWORD",
    ),
    (
        r"Failed to connect|Could not resolve host",
        "the node does not reach the registry: import the image to a file first",
    ),
    (
        r"--container-mounts: source path does not exist|mount source \S+ doesn't exist|enroot-mount: failed to mount",
        "a mount's source is not on that node: look at `[[mounts]]` of cluster and recipe",
    ),
    (r"couldn't chdir to", "the image has no such working directory"),
    (
        r"nvidia-container-cli|98-nvidia\.sh|driver\/library version mismatch",
        "the hook that brings GPUs into containers failed on that node: `enroot` needs libnvidia-container there",
    ),
    (r"unrecognized option '--container", "pyxis is not set up on this cluster: `srun --help | grep container`"),
    (
        r"can not load PMIx library|Invalid MPI type|cannot find mpi plugin",
        "`srun --mpi=list` shows the types of MPI that Slurm has; `[slurm] mpi` of the cluster chooses one",
    ),
    (
        r"PMIX[ _]ERR|pmix\S*:? .*(?:unreachable|not supported|no such file)|PMIx_Init failed",
        "the ranks do not see Slurm's PMIx server: under pyxis enroot needs its hook `50-slurm-pmi.sh` on the nodes",
    ),
    (r"Plugin initialization failed", "a plugin of Slurm fails on that node: tell the site's administrators"),
    (r"Node failure on|NODE_FAIL", "a node of the job failed: Slurm has ended the job"),
    (r"OUT_OF_MEMORY|oom[-_ ]kill", "the step used more memory than the job has: `[slurm]` may ask for more"),
    (
        r"More processors requested than permitted|Memory required by task is not available",
        "the job has fewer CPUs or less memory than its steps want: compare `[node]` with `scontrol show job`",
    ),
    (r"DUE TO TIME LIMIT", "the job's time limit was reached: raise `[slurm] time`"),
    (r"user namespace|newuidmap|fakeroot.*(?:fail|denied)", "user namespaces are not for ordinary users on that node"),
)
"""Known texts of what starts steps and containers."""

# As `facts.faults` and `facts.absent` word them.
NODES: Tuple[Tuple[str, str], ...] = (
    (
        r"port \d+ of \S+ is in use by the run `",
        "a run of yours has the port: `launch down RUN` stops it; `--set ports.shift=100` moves ours",
    ),
    (
        r"port \d+ of \S+ is in use",
        "another program has the port on that node: `launch ps` lists your runs; `--set ports.shift=100` moves ours",
    ),
    (
        r"` does not exist on \S+",
        "the nodes of the job do not see that path: look at `[[mounts]]`, `[images]` and `[model]`, on a compute node",
    ),
)
"""What nodes lack for a run."""

HINTS: Tuple[Tuple[str, str], ...] = (
    *BATCH,
    *NODES,
    *CONTAINERS,
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
    # As a step says it (`words.UNFINISHED`), and most have said more before.
    (
        r"the preamble of the cluster ended before",
        "`[setup]` of the cluster file runs before every role's program: mend what failed in it",
    ),
    (
        r"the preamble of the role ended before",
        "`setup` of the role, or of its manifest, runs before the program: mend what failed in it",
    ),
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
