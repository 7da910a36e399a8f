"""Runs inside Slurm jobs: asked of Slurm's own programs, whose answers are read by pure functions."""
