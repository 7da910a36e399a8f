"""A hundred launches of one model in one process, validated and rendered as batch scripts: CPU seconds of each."""

import json
import sys
import time
import warnings

from vec_inf.client._helper import ModelLauncher  # type: ignore[import-not-found]
from vec_inf.client._slurm_script_generator import SlurmScriptGenerator  # type: ignore[import-not-found]


def work(number: int) -> str:
    words = {
        "account": "a",
        "work_dir": "/tmp",
        "hf_model": "org/model",
        "vllm_args": f"--max-model-len={8192 + number}",
    }
    launcher = ModelLauncher("Meta-Llama-3.1-8B-Instruct", words)
    text: str = SlurmScriptGenerator(launcher.params)._generate_script_content()
    return text


def main() -> None:
    warnings.simplefilter("ignore")
    work(100)
    began = time.process_time()
    for number in range(100):
        work(number)
    json.dump({"all": (time.process_time() - began) / 100}, sys.stdout)


if __name__ == "__main__":
    main()
