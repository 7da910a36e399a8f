"""`launch cluster` without a Slurm: the list, a file that is begun, and words that make no sense."""

import json
import tomllib

import pytest

from tests.cli.program import Program


def test_clusters_are_listed(launch: Program) -> None:
    folder = launch.home / "config/launch/clusters"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('schema = 1\nname = "mine"\n[node]\ngpus = 2\n')
    (folder / "broken.toml").write_text('schema = 1\nname = "broken"\nnope = 1\n')
    done = launch("cluster", "ls", env={"LAUNCH_CLUSTER": "mine"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines["mine"].endswith("default")
    assert "broken: `launch cluster show broken`" in lines["broken"]
    assert "apptainer" in lines["x86-apptainer"]
    told = json.loads(launch("cluster", "ls", "--json").stdout)
    found = {each["name"]: each for each in told["clusters"]}
    assert (found["local"]["default"], found["mine"]["gpus"], found["broken"]["findings"]) == (True, 2, 1)
    assert found["broken"]["runtime"] is None


def test_a_cluster_is_shown_with_secrets_masked(launch: Program) -> None:
    path = launch.home / "c.toml"
    path.write_text('schema = 1\nname = "c"\n[env]\nHF_TOKEN = "hf_0123456789abcdefghij"\n')
    done = launch("cluster", "show", "./c.toml")
    assert done.returncode == 0
    assert "hf_" not in done.stdout
    assert launch("cluster", "show").stdout == launch("config", "show").stdout
    assert launch("cluster", "show", "gb300").stdout == launch("config", "show", "--cluster", "gb300").stdout


def test_it_is_told_which_files_make_a_cluster(launch: Program) -> None:
    shipped = launch("cluster", "show", "gb300")
    assert shipped.stderr.startswith("`gb300` is made of `")
    assert shipped.stderr.endswith("images/clusters/gb300.toml`\n")
    own = launch.home / "config/launch/clusters/gb300.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('schema = 1\nname = "gb300"\n[node]\ngpus = 8\n')
    over = launch("cluster", "show", "gb300")
    assert "images/clusters/gb300.toml` under `" in over.stderr
    assert "clusters/gb300.toml`, whose keys count" in over.stderr
    assert tomllib.loads(over.stdout)["node"]["memory"] == tomllib.loads(shipped.stdout)["node"]["memory"]


def test_a_file_is_begun_on_a_machine_without_slurm(launch: Program) -> None:
    done = launch("cluster", "init", "site", env={"PATH": "/nowhere"})
    path = launch.home / "config/launch/clusters/site.toml"
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(path)
    assert "what Slurm would tell is left open" in done.stderr
    data = tomllib.loads(path.read_text())
    assert (data["name"], data["runtime"]) == ("site", "none")
    # What starts containers was not told.
    assert "next: fill in `runtime` and `[images]`, then `launch cluster doctor site`" in done.stderr
    again = launch("cluster", "init", "site")
    assert again.returncode == 2
    assert "there is a cluster `site` already" in again.stderr
    assert launch("check", "quickstart", "--cluster", "site").returncode in (0, 3)


def test_this_machine_is_examined(launch: Program) -> None:
    done = launch("cluster", "doctor", "local")
    assert done.returncode == 0, done.stderr
    assert "python" in done.stdout
    assert "`local` is as its site is" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["cluster"], 2, "usage: launch cluster VERB"),
        (["cluster", "lst"], 2, "did you mean `ls`?"),
        (["cluster", "ls", "gb300"], 2, "`gb300` is one word too many"),
        (["cluster", "show", "--write"], 2, "there is no option `--write`"),
        (["cluster", "show", "gb30"], 2, "did you mean `gb300`?"),
        (["cluster", "doctor", "gb30"], 2, "did you mean `gb300`?"),
        (["cluster", "doctor", "./none.toml"], 2, "`./none.toml` does not exist"),
        (["cluster", "doctor", "local", "--timeout", "soon"], 2, "`--timeout`"),
        (["cluster", "doctor", "gb300"], 5, "error[slurm-absent]"),
        (["cluster", "init"], 2, "`NAME|FILE` is missing"),
        (["cluster", "init", "gb300"], 2, "there is a cluster `gb300` already"),
        (["cluster", "init", "a b"], 2, "`a b` is no name for a cluster"),
        (["cluster", "init", "./no/such/folder/ä.toml"], 2, "is no name"),
        (["cluster", "doctor", "./wrong.toml"], 3, "wrong.toml:3:1"),
        (["cluster", "doctor", "./wrong.toml", "--write"], 3, "wrong.toml:3:1"),
    ],
)
def test_what_is_refused(launch: Program, words: list[str], status: int, said: str) -> None:
    (launch.home / "wrong.toml").write_text('schema = 1\nname = "wrong"\nruntine = "pyxis"\n')
    done = launch(*words, env={"PATH": "/nowhere"})
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_written_is_an_answer(launch: Program) -> None:
    done = launch("cluster", "init", "site", env={"XDG_CONFIG_HOME": "/proc/nope"})
    assert done.returncode == 1
    assert "error[operation-failed]" in done.stderr


@pytest.mark.parametrize(
    ("word", "message"), [("gb30", "no cluster is named `gb30`"), ("./a.toml", "`./a.toml` does not exist")]
)
def test_a_wrong_cluster_of_the_environment(launch: Program, word: str, message: str) -> None:
    for verb in (("plan", "quickstart"), ("config", "path"), ("images", "ls")):
        done = launch(*verb, env={"LAUNCH_CLUSTER": word})
        assert done.returncode == 2
        assert f"{message}\n --> $LAUNCH_CLUSTER:1:1\n" in done.stderr
