"""From a plan to a Script: words for `srun` and containers, pure, lists to the end."""
