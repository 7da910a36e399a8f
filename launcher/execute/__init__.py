"""The only room that touches the world: files, processes, ports, registries, Slurm."""
