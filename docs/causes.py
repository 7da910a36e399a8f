"""Tables of a guide: texts of failing programs with what the launcher says about each, and states of runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from launcher.execute.slurm import refusal
from launcher.execute.status import STATES
from launcher.run.hints import hint
from launcher.run.words import UNFINISHED

LOGS: Sequence[str] = (
    "the supervisor left no outcome: job 14 ended as FAILED (exit code 127): …/job.sh: 3: exec: python3.12: not found",
    "the supervisor left no outcome: job 14 ended as FAILED (0:53, a node could not open its output file or working …)",
    "port 8000 of node1 is in use by the run `small-20260801-101500-3fa9`",
    "port 8000 of node1 is in use",
    "`/data/x` does not exist on node1, node2",
    "pyxis: failed to create container filesystem for image: /images/x.sqsh",
    "[ERROR] Invalid image format: /images/x.sqsh",
    "FATAL: could not open image /images/x.sif",
    "pyxis: failed to import docker image: nvcr.io#x/y:1",
    "[ERROR] URL https://… /manifests/nope returned error code: 404 Not Found",
    "[INFO] Authenticating with user: <anonymous> (and nothing after it)",
    "UNAUTHORIZED: authentication required",
    "curl: (7) Failed to connect to nvcr.io port 443",
    "pyxis: --container-mounts: source path does not exist: /data",
    "FATAL: container creation failed: mount source /data doesn't exist",
    "pyxis: couldn't chdir to /nope: No such file or directory",
    "[ERROR] Command not found: nvidia-container-cli",
    "srun: unrecognized option '--container-image=…'",
    "srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types",
    "PMIX ERROR: UNREACHABLE in file ptl_tcp.c at line 1019",
    "srun: error: task 0 launch failed: Plugin initialization failed",
    "srun: error: Node failure on node2",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0",
    "srun: error: Unable to create step for job 7: More processors requested than permitted",
    "*** STEP 7.0 ON node1 CANCELLED AT … DUE TO TIME LIMIT ***",
    "FATAL: could not use fakeroot: … denied",
    "OSError: [Errno 98] Address already in use",
    "error: externally-managed-environment",
    "torch.OutOfMemoryError: CUDA out of memory",
    "CUDA driver version is insufficient for CUDA runtime version",
    "ModuleNotFoundError: No module named 'sglang_router'",
    "exec /usr/bin/python3: Exec format error",
    "OSError: [Errno 28] No space left on device",
    "OSError: [Errno 30] Read-only file system: '/opt/x'",
    "huggingface_hub.errors.GatedRepoError: 401 Client Error",
    "PermissionError: [Errno 13] Permission denied: '/data/x'",
    "bash: line 3: vllm: command not found",
    "OSError: [Errno 24] Too many open files",
    UNFINISHED % "cluster",
    UNFINISHED % "role",
)
"""Lines of a step's log, one at least for each thing that `launch` knows to say about them."""

REFUSALS: Sequence[str] = (
    "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
    "invalid partition specified: nosuch",
    "Invalid account or account/partition combination specified",
    "Invalid qos specification",
    "Invalid feature specification",
    "Invalid node name specified",
    "Requested reservation is invalid",
    "Invalid license specification",
    "Requested node configuration is not available",
    "Node count specification invalid",
    "Requested time limit is invalid (missing or exceeds some limit)",
    "Invalid generic resource (gres) specification",
    "Memory specification can not be satisfied",
    "unrecognized option '--segment=16'",
    "Invalid job credential",
    "Could not establish a configuration source",
    "Unable to contact slurm controller (connect failure)",
)
"""What Slurm answers to a submission, likewise."""


def _said() -> Iterator[tuple[str, str]]:
    yield from ((line, hint([line]) or "") for line in LOGS)


def _refused() -> Iterator[tuple[str, str]]:
    yield from ((line, refusal.advice(line) or "") for line in REFUSALS)


TABLES: Mapping[str, tuple[str, str, Callable[[], Iterable[tuple[str, str]]]]] = {
    "logs": ("in a log", "it means", _said),
    "slurm": ("Slurm says", "what to do", _refused),
    "states": ("state", "what it means", STATES.items),
}


def table(name: str) -> str:
    """One of the tables as Markdown. Raises KeyError."""
    left, right, rows = TABLES[name]
    lines = [f"| {left} | {right} |", "|---|---|"]
    cells = ((text.replace("|", "\\|"), meaning.replace("|", "\\|")) for text, meaning in rows())
    lines += [f"| {_code(text)} | {meaning} |" for text, meaning in cells]
    return "\n".join(lines)


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"
