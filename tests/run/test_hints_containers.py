"""What pyxis, enroot, Apptainer and Slurm say when they fail, and what is said about it: their own texts, as seen."""

import pytest

from launcher.run.hints import CONTAINERS, hint

SAID = (
    (
        "slurmstepd: error: pyxis: failed to create container filesystem for image: /nope/x.sqsh",
        "the image is absent",
    ),
    ("slurmstepd: error: pyxis:     [ERROR] Invalid image format: /etc/passwd", "the image is absent"),
    ("FATAL:   could not open image /nope.sif: failed to retrieve path for /nope.sif", "the image is absent"),
    ("slurmstepd: error: pyxis: failed to import docker image: R#I:T", "the registry has no such image"),
    (
        "[ERROR] URL http://127.0.0.1:5000/v2/x/manifests/nope returned error code: 404 Not Found",
        "the registry has no",
    ),
    (
        "FATAL: Unable to handle docker://x uri: MANIFEST_UNKNOWN: manifest unknown",
        "the registry has no such image",
    ),
    ("[INFO] Authenticating with user: <anonymous>", "the registry wants credentials"),
    ("UNAUTHORIZED: authentication required", "the registry wants credentials"),
    ("curl: (7) Failed to connect to 127.0.0.1 port 5000", "the node does not reach the registry"),
    ("pyxis: --container-mounts: source path does not exist: /nope", "a mount's source is not on that node"),
    ("enroot-mount: failed to mount: /nope at /x/mnt: No such file or directory", "a mount's source is not"),
    (
        "FATAL:   container creation failed: mount source /nope doesn't exist",
        "a mount's source is not on that node",
    ),
    ("pyxis: couldn't chdir to /nope: No such file or directory", "the image has no such working directory"),
    ("[ERROR] Command not found: nvidia-container-cli, see https://x", "the hook that brings GPUs"),
    ("srun: unrecognized option '--container-image=x'", "pyxis is not set up"),
    ("srun: error:  mpi/pmix_v5: init: pmi/pmix: can not load PMIx library", "`srun --mpi=list`"),
    ("srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types", "`srun --mpi=list`"),
    ("[node1:00042] PMIX ERROR: UNREACHABLE in file ptl_tcp.c at line 1019", "the ranks do not see Slurm's PMIx"),
    ("srun: error: task 0 launch failed: Plugin initialization failed", "a plugin of Slurm fails"),
    ("srun: error: Node failure on node2", "a node of the job failed"),
    ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0", "the step used more memory"),
    (
        "srun: error: Unable to create step for job 7: More processors requested than permitted",
        "the job has fewer CPUs",
    ),
    (
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-30T17:00:00 DUE TO TIME LIMIT ***",
        "the job's time",
    ),
    ("mksquashfs: No space left on device", "a file system is full"),
    ("exec /usr/bin/python3: Exec format error", "the program was built for another architecture"),
    ("FATAL: could not use fakeroot: no mapping entry found in /etc/subuid: denied", "user namespaces are not for"),
)


@pytest.mark.parametrize(("line", "said"), SAID)
def test_a_known_text_has_a_hint(line: str, said: str) -> None:
    found = hint([line])
    assert found is not None
    assert found.startswith(said)


@pytest.mark.parametrize(
    "line",
    [
        "pyxis: imported docker image: docker://x",
        "pyxis: child 12 failed with error code: 1",
        "srun: error: node1: task 0: Exited with exit code 1",
        "INFO: Connected to 10.0.0.1",
    ],
)
def test_noise_has_none(line: str) -> None:
    assert hint([line]) is None


def test_every_hint_is_tried() -> None:
    assert {advice for _, advice in CONTAINERS} <= {hint([line]) for line, _ in SAID}
