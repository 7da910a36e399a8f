"""A hundred jobs in one process, their parameters validated and rendered as batch scripts: CPU seconds of each.

    python submitit_jobs.py one

submits one instead, as people do.
"""

import json
import sys
import tempfile
import time
from typing import Any

import submitit  # type: ignore[import-not-found]


def executor(folder: str, number: int) -> Any:
    made = submitit.AutoExecutor(folder=folder, cluster="slurm")
    made.update_parameters(
        name=f"r{number}", nodes=1 + number % 8, gpus_per_node=4, timeout_min=60, slurm_partition="gpu"
    )
    return made


def work(folder: str, number: int) -> str:
    text: str = executor(folder, number)._executor._make_submission_file_text("python3 -m engine", str(number))
    return text


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:] == ["one"]:
            print(executor(folder, 1).submit(print, "hello").job_id)
            return
        work(folder, 100)
        began = time.process_time()
        for number in range(100):
            work(folder, number)
        json.dump({"all": (time.process_time() - began) / 100}, sys.stdout)


if __name__ == "__main__":
    main()
