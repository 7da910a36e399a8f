"""What a vLLM without metrics of its own has counted, as Prometheus text: prometheus_client keeps it in a folder."""

import sys

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

if __name__ == "__main__":
    registry = CollectorRegistry()
    MultiProcessCollector(registry, sys.argv[1])
    sys.stdout.write(generate_latest(registry).decode())
