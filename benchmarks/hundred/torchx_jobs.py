"""A hundred jobs in one process, validated and rendered as batch scripts: CPU seconds of each."""

import json
import sys
import time

from torchx.runner import get_runner  # type: ignore[import-not-found]


def main() -> None:
    with get_runner() as runner:

        def work(number: int) -> str:
            words = ["--msg", f"hello {number}", "--num_replicas", str(1 + number % 8)]
            return str(runner.dryrun_component("utils.echo", words, "slurm", {"partition": "gpu"}))

        work(100)
        began = time.process_time()
        for number in range(100):
            work(number)
        json.dump({"all": (time.process_time() - began) / 100}, sys.stdout)


if __name__ == "__main__":
    main()
