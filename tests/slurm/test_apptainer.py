"""What the real Apptainer does, as an ordinary user in steps: the rules the launcher's words rest on."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.testbed import apptainer
from tests.testbed.bed import Bed, until
from tests.testbed.image import TINY
from tests.testbed.layout import Layout
from tests.testbed.slurm import bed as started

Run = Callable[..., CompletedProcess[str]]
EXEC = ("apptainer", "--quiet", "exec", "--no-eval", "--no-home", "--cleanenv")
ODD = "a,b 'c' \"d\" $HOME `id` \\ {x} ü\nline=2\n"


@pytest.fixture(scope="module")
def site() -> Iterator[Bed]:
    """Two nodes without pyxis, with Apptainer on users' PATH, and a job that has both."""
    with started(Layout(nodes=2, gpus=0, pyxis=None), None, {"apptainer": apptainer.apptainer()}) as running:
        job = running.submit("#!/bin/sh\nexec sleep 3600\n", "--nodes=2", "--exclusive")
        running.wait(job, "RUNNING")
        yield running


@pytest.fixture
def step(site: Bed) -> Run:
    """Run words as a step of one task on the first node."""
    (job,) = site.jobs()

    def run(*words: str, env: dict[str, str] | None = None) -> CompletedProcess[str]:
        where = [f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=node1"]
        return site.run(["srun", *where, "--input=none", "--", *words], env=env)

    return run


@pytest.fixture(scope="module")
def sif() -> str:
    return str(apptainer.sif(TINY))


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("{sif}", "true"), 0, ""),
        (("{sif}", "sh", "-c", "exit 7"), 7, ""),
        (("{sif}", "sh", "-c", "kill -KILL $$"), 137, ""),
        (("{sif}", "nosuch"), 255, '"nosuch": executable file not found in $PATH'),
        (("/nope.sif", "true"), 255, "could not open image"),
        (("--bogus", "{sif}", "true"), 1, "unknown flag: --bogus"),
        (("--bind", "/nope:/data", "{sif}", "true"), 255, "mount source /nope doesn't exist"),
        (("--pwd", "/nope", "{sif}", "true"), 255, "/nope"),
        (("--fakeroot", "--overlay", "/nope", "{sif}", "true"), 255, "failed to open overlay image /nope"),
    ],
)
def test_exit_codes(step: Run, sif: str, words: Sequence[str], code: int, text: str) -> None:
    done = step(*EXEC, *(word.replace("{sif}", sif) for word in words))
    assert (done.returncode, text in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    ("env", "name", "value"),
    [
        ({"APPTAINERENV_MINE": ODD}, "MINE", ODD),
        ({"MINE": "here"}, "MINE", ""),
        ({"SLURM_MINE": "here", "CUDA_VISIBLE_DEVICES": "1"}, "CUDA_VISIBLE_DEVICES", ""),
        ({"APPTAINERENV_CUDA_VISIBLE_DEVICES": "1"}, "CUDA_VISIBLE_DEVICES", "1"),
        ({"LANG": "de_DE.UTF-8"}, "LANG", "C"),
        ({}, "SLURM_JOB_ID", ""),
    ],
)
def test_the_environment_is_clean_and_exact(step: Run, sif: str, env: dict[str, str], name: str, value: str) -> None:
    done = step(*EXEC, sif, "sh", "-c", f'printf %s "${name}"', env=env)
    assert done.stdout == value, done.stderr


def test_without_no_eval_values_are_evaluated(step: Run, sif: str) -> None:
    words = [word for word in EXEC if word != "--no-eval"]
    done = step(*words, sif, "sh", "-c", 'printf %s "$MINE"', env={"APPTAINERENV_MINE": "$((1 + 1))"})
    assert done.stdout == "2"


def test_an_inner_env_wins(step: Run, sif: str) -> None:
    done = step(*EXEC, sif, "env", "MINE=inner", "sh", "-c", "echo $MINE", env={"APPTAINERENV_MINE": "outer"})
    assert done.stdout == "inner\n"


@pytest.mark.parametrize(
    ("bind", "line", "printed"),
    [
        ("{here}/a:/data", "cat /data/file", "a\n"),
        ("{here}/a:/data:ro", "echo > /data/new 2>/dev/null || echo refused", "refused\n"),
        ("{here}/a:/a,{here}/b:/b", "cat /a/file /b/file", "a\nb\n"),
        ("{here}/a\\,b:/data", "cat /data/file", "a,b\n"),
        ("{here}/a\\:b:/data", "cat /data/file", "a:b\n"),
        ("{here}/a$b:/data", "cat /data/file", "a$b\n"),
    ],
)
def test_binds(step: Run, site: Bed, sif: str, bind: str, line: str, printed: str) -> None:
    for name in ("a", "b", "a,b", "a:b", "a$b"):
        (site.shared / name).mkdir(exist_ok=True)
        (site.shared / name / "file").write_text(f"{name}\n")
    done = step(*EXEC, "--bind", bind.replace("{here}", str(site.shared)), sif, "sh", "-c", line)
    assert done.stdout == printed, done.stderr


@pytest.mark.parametrize(
    ("options", "line", "printed"),
    [
        (("--pwd", "/"), "pwd", "/\n"),
        (("--pwd", "/usr"), "pwd", "/usr\n"),
        ((), "touch /new 2>&1", "touch: /new: Read-only file system\n"),
        ((), "id -un", "alice\n"),
        (("--fakeroot",), "id -u; echo $HOME", "0\n/root\n"),
    ],
)
def test_options(step: Run, sif: str, options: Sequence[str], line: str, printed: str) -> None:
    assert step(*EXEC, *options, sif, "sh", "-c", line).stdout == printed


def test_an_overlay_keeps_what_is_written_and_goes_through_fakeroot(step: Run, sif: str) -> None:
    assert step("mkdir", "/tmp/over").returncode == 0
    over = ("--fakeroot", "--overlay", "/tmp/over")
    write = step(*EXEC, *over, sif, "sh", "-c", "mkdir /new && touch /new/file && chown -R 33:33 /new")
    assert write.returncode == 0, write.stderr
    assert step(*EXEC, "--overlay", "/tmp/over:ro", sif, "ls", "/new").stdout == "file\n"
    assert step("rm", "-rf", "/tmp/over").returncode == 1
    remove = step(*EXEC, "--fakeroot", "--bind", "/tmp:/m", sif, "rm", "-rf", "/m/over")
    assert remove.returncode == 0, remove.stderr
    assert "over" not in step("ls", "-A", "/tmp").stdout.split()


def test_without_fakeroot_an_overlay_cannot_be_written(step: Run, sif: str) -> None:
    assert step("mkdir", "/tmp/plain").returncode == 0
    done = step(*EXEC, "--overlay", "/tmp/plain", sif, "touch", "/usr/local/new")
    assert (done.returncode, "Permission denied" in done.stderr) == (1, True), done.stderr
    step(*EXEC, "--fakeroot", "--bind", "/tmp:/m", sif, "rm", "-rf", "/m/plain")


def test_term_by_process_id_ends_it_gracefully(site: Bed, sif: str) -> None:
    pids = site.shared / "pids"
    pids.mkdir()
    pids.chmod(0o777)
    (job,) = site.jobs()
    line = (
        "echo $$ > /pids/worker.new; mv /pids/worker.new /pids/worker; trap 'exit 5' TERM; while :; do sleep 0.05; done"
    )
    where = [f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=node1", "--input=none"]
    with site.start(["srun", *where, *EXEC, "--bind", f"{pids}:/pids", sif, "sh", "-c", line]) as worker:
        until(lambda: (pids / "worker").exists() or None)
        stop = ["srun", *where, "sh", "-c", f'kill -TERM "$(cat {pids}/worker)"']
        assert site.run(stop).returncode == 0
        said = worker.communicate(timeout=60)[1]
    assert worker.returncode == 5, said
    until(lambda: not [argv for argv in site.processes("alice").values() if "fuse" in Path(argv[0]).name] or None)


def test_tasks_on_two_nodes_with_pmix(site: Bed, sif: str) -> None:
    (job,) = site.jobs()
    words = [f"--jobid={job}", "--overlap", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--mpi=pmix"]
    # Without --cleanenv, which would take PMIX_* away.
    inner = ["apptainer", "--quiet", "exec", "--no-home", "--bind", f"{site.root}/local", sif, "sh", "-c"]
    line = "echo $PMIX_RANK $(ls -d $PMIX_SERVER_TMPDIR | wc -l)"
    done = site.run(["srun", "--input=none", *words, *inner, line])
    assert sorted(done.stdout.splitlines()) == ["0 1", "1 1"], done.stderr
