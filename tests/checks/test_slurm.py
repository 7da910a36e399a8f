"""What is asked of Slurm and Apptainer, by kind: any option misspelt, any path that can be mounted."""

import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from launcher.checks import check
from launcher.checks.options import OWNED
from launcher.execute.library import Files
from launcher.model.job import Job
from launcher.model.option import PROGRAMS, known
from launcher.model.recipe import Mount
from launcher.plan.plan import plan
from launcher.render.sbatch import submission
from launcher.text.diagnostic import errors
from tests import jobs
from tests.checks.test_mistakes import slips
from tests.golden.test_golden import CASES, made

CATALOGUES = {program: known(Files({}, site=Path("/nonexistent")), program, "24.11.5") for program in PROGRAMS}
SITE: dict[str, Any] = {"scheduler": "slurm", "node": {"gpus": 8}, "versions": {"slurm": "24.11.5"}}
NAMES = {program: sorted(flag.key for flag in found[0].flags.values()) for program, found in CATALOGUES.items()}
FREE = {program: sorted(set(names) - set(OWNED[program])) for program, names in NAMES.items()}
PROGRAM_AND_NAME = st.sampled_from([(program, name) for program, names in FREE.items() for name in names])


def job(program: str, options: dict[str, Any]) -> Job:
    made = jobs.job(jobs.role("worker"), on=jobs.cluster(**SITE), slurm={program: options})
    return Job(**{**vars(made), "options": CATALOGUES})


def codes(made: Job) -> set[str]:
    return {finding.code for finding in errors(check(made, jobs.adapters()))}


@given(PROGRAM_AND_NAME.flatmap(lambda both: st.tuples(st.just(both[0]), st.sampled_from(list(slips(both[1]))))))
def test_a_misspelt_option_is_unknown(both: tuple[str, str]) -> None:
    program, name = both
    assume(name and name.strip("-").replace("_", "-") not in NAMES[program] and name not in OWNED[program])
    assert "unknown-option" in codes(job(program, {name: "x"}))


@given(PROGRAM_AND_NAME, st.text(string.printable, max_size=8))
def test_an_option_of_slurm_is_one_word(both: tuple[str, str], text: str) -> None:
    program, name = both
    flag = CATALOGUES[program][0].flags[f"--{name}"]
    made = job(program, {name: True if flag.kind == "bool" else text})
    assume(not codes(made))
    batch = plan(made, jobs.adapters()).batch
    assert batch is not None
    words = batch.sbatch if program == "sbatch" else batch.srun
    assert words == ((f"--{name}",) if flag.kind == "bool" else (f"--{name}={text}",))


@pytest.mark.parametrize(("program", "name"), [(each, name) for each, names in OWNED.items() for name in sorted(names)])
def test_owned_options_are_owned_however_they_are_spelt(program: str, name: str) -> None:
    for spelt in {name, name.replace("-", "_"), f"--{name}"}:
        assert "owned-option" in codes(job(program, {spelt: "x"}))


def test_what_the_launcher_sets_itself_is_owned() -> None:
    """Every option in the words of jobs and steps, but for memory: an option may take the place of ours."""
    mine: dict[str, set[str]] = {program: set() for program in PROGRAMS}
    for name in CASES:
        found, cluster, script = made(name)
        if found.batch is not None:
            words = [word for word in submission(found, cluster).argv if word not in found.batch.sbatch]
            mine["sbatch"] |= _options(words)
            for child in script.children:
                mine["srun"] |= _options(child.argv[: child.argv.index("--")])
    assert mine["sbatch"] - set(OWNED["sbatch"]) == {"mem", "gres"}
    assert {name for name in mine["srun"] - set(OWNED["srun"]) if "container" not in name} == set()


def _options(words: Iterable[str]) -> set[str]:
    return {word.partition("=")[0].removeprefix("--") for word in words if word.startswith("--")}


PATH = st.text(st.characters(codec="utf-8", exclude_characters="\0\\\n/\ufdd0\ufdd1"), min_size=1, max_size=8)


@given(PATH, PATH)
def test_apptainer_mounts_all_but_a_backslash_and_a_line_end(source: str, target: str) -> None:
    assume(target.strip(".") and "." not in target and source.strip("."))
    on = jobs.cluster(**SITE, runtime="apptainer")
    worker = jobs.role(
        "worker", gpus=8, reference="/i.sif", mounts=(Mount(source=f"/{source}", target=f"/d/{target}"),)
    )
    assert codes(jobs.job(worker, on=on)) == set()


@given(PATH, st.sampled_from("\\\n"), st.booleans())
def test_paths_that_break_apptainer_are_refused(path: str, letter: str, at_source: bool) -> None:
    broken = f"/{path}{letter}"
    mount = Mount(source=broken, target="/d") if at_source else Mount(source="/d", target=broken)
    worker = jobs.role("worker", gpus=8, reference="/i.sif", mounts=(mount,))
    assert "mount-path" in codes(jobs.job(worker, on=jobs.cluster(**SITE, runtime="apptainer")))
