"""Variables that what starts a step would read itself, were they in its environment."""

_EARLY = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR")
_TOOLS = ("LD_", "SLURM", "SRUN_", "SBATCH_", "SALLOC_", "PYXIS_", "ENROOT_", "APPTAINER", "SINGULARITY", "PMI")


def early(name: str) -> bool:
    """Whether a loader, `srun`, pyxis, enroot or Apptainer reads the variable before the role does.

    A role gets those inside its container alone, by `env` in front of its words.
    """
    return name in _EARLY or name.startswith(_TOOLS)
