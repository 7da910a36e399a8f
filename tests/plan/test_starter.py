import pytest

from launcher.plan.starter import early


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("PATH", "HOME", "TMPDIR", "LD_PRELOAD", "SLURM_NTASKS", "SLURMD_X", "SRUN_X")),
        *((name, True) for name in ("PYXIS_CONTAINER_IMAGE", "ENROOT_X", "APPTAINER_BIND", "SINGULARITY_X", "PMIX_X")),
        *((name, False) for name in ("A", "NCCL_DEBUG", "PYTHONPATH", "HF_TOKEN", "LANG", "LAUNCH_IP", "MY_PATH")),
    ],
)
def test_variables_that_the_starter_would_read(name, expected):
    assert early(name) is expected
