"""Real multi-node Slurm on one machine, a stand-in for pyxis and a real Apptainer, as fixtures of the tests."""
