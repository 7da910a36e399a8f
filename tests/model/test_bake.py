"""Which preambles are the one that was baked."""

import pytest

from launcher.model.bake import digest, mark, of_a_run

TEXT = 'pip install x==$X_VERSION "${EXTRA}"'
ENV = {"X_VERSION": "1", "EXTRA": "e", "NCCL_DEBUG": "INFO", "PIP_INDEX_URL": "u", "VERSION": "9"}


@pytest.mark.parametrize(
    ("texts", "env", "same"),
    [
        ([TEXT], {**ENV, "NCCL_DEBUG": "WARN"}, True),
        ([TEXT], {**ENV, "VERSION": "8"}, True),
        ([TEXT], dict(reversed(ENV.items())), True),
        ([TEXT], {**ENV, "X_VERSION": "2"}, False),
        ([TEXT], {**ENV, "EXTRA": ""}, False),
        ([TEXT], {**ENV, "PIP_INDEX_URL": "v"}, False),
        ([TEXT], {**ENV, "UV_INDEX": "v"}, False),
        ([TEXT], {key: value for key, value in ENV.items() if key != "EXTRA"}, False),
        ([f"{TEXT}\n"], ENV, False),
        (["ulimit -n 1024", TEXT], ENV, False),
        ([TEXT[:5], TEXT[5:]], ENV, False),
    ],
)
def test_it_is_the_same_where_all_that_counts_is(texts: list[str], env: dict[str, str], same: bool) -> None:
    assert (digest(texts, env) == digest([TEXT], ENV)) is same


def test_what_an_earlier_release_baked_is_found() -> None:
    assert mark("sha256:1", "sha256:2") == "d372c67e6862dd69a3c9464e618fb70e"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("echo $LAUNCH_IP ${SLURM_NODEID:-0}", ["LAUNCH_IP", "SLURM_NODEID"]),
        ("echo $CUDA_VISIBLE_DEVICES", ["CUDA_VISIBLE_DEVICES"]),
        ("echo $MY_LAUNCH_IP; launch_ip=1; VLLM_SLURM_X=2", []),
    ],
)
def test_what_each_run_has_its_own_of(text: str, names: list[str]) -> None:
    assert of_a_run(text) == names
