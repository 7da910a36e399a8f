"""From a job to what runs where, on which GPUs and ports, in what order."""
