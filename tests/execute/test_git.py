"""What git says of a project, asked of the real git."""

from pathlib import Path

import pytest

from launcher.execute.git import Git
from launcher.execute.world import Real
from launcher.text.diagnostic import Refused
from tests.testbed.git import commit, git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder, images__a__x="1", images__b__x="1", images__b__z="long enough to be seen as a rename\n", other="1")
    return folder


def seen(folder: Path) -> Git:
    return Git(Real({"PATH": "/usr/bin:/bin", "HOME": str(folder)}), folder)


def changed(folder: Path, revision: str, *paths: str) -> set[str]:
    asked = seen(folder)
    return set(asked.changed(asked.since(revision), paths or ("images",)))


def test_committed_and_not(repository: Path) -> None:
    assert changed(repository, "HEAD") == set()
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, images__a__x="2", other="2")
    assert changed(repository, first) == {"images/a/x"}
    assert changed(repository, "HEAD^{commit}") == set()
    (repository / "images/b/new ü\nname").write_text("")
    (repository / "images/a/x").write_text("3")
    git(repository, "add", "images/a/x")
    assert changed(repository, "HEAD") == {"images/a/x", "images/b/new ü\nname"}
    (repository / ".gitignore").write_text("new*\n")
    assert changed(repository, "HEAD") == {"images/a/x"}
    assert changed(repository, "HEAD", "images/b") == set()


def test_renamed_and_deleted(repository: Path) -> None:
    git(repository, "mv", "images/b/z", "images/b/y")
    (repository / "images/a/x").unlink()
    assert changed(repository, "HEAD") == {"images/b/z", "images/b/y", "images/a/x"}


def test_paths_are_seen_from_the_project(repository: Path) -> None:
    """A project may be a folder of a repository."""
    commit(repository, sub__images__c__x="1")
    (repository / "sub/images/c/x").write_text("2")
    (repository / "images/a/x").write_text("2")
    assert changed(repository / "sub", "HEAD") == {"images/c/x"}
    assert changed(repository, "HEAD") == {"images/a/x"}
    (repository / "sub/images/c/[x]*").write_text("")
    assert changed(repository / "sub", "HEAD", "images/c/[x]*") == {"images/c/[x]*"}


def test_what_others_changed_meanwhile_does_not_count(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "mine")
    commit(repository, images__a__x="2")
    git(repository, "checkout", "--quiet", "main")
    commit(repository, images__b__x="2")
    git(repository, "checkout", "--quiet", "mine")
    assert changed(repository, "main") == {"images/a/x"}
    git(repository, "tag", "--annotate", "--message", "m", "v1", "main")
    assert changed(repository, "v1") == {"images/a/x"}


def test_a_shallow_clone(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, images__a__x="2")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{repository}", "clone")
    clone = tmp_path / "clone"
    with pytest.raises(Refused) as raised:
        seen(clone).since(first)
    (only,) = raised.value.diagnostics
    assert (only.code, only.exit) == ("unknown-revision", 2)
    assert only.help is not None
    assert only.help.startswith("this clone is shallow: fetch it (`fetch-depth: 0`")
    # CI systems fetch the one commit besides, without what lies between.
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(clone, "fetch", "--quiet", "--depth", "1", "origin", first)
    since = seen(clone).since(first)
    assert since.note == f"this clone is shallow: compared with `{first}` as it is now"
    assert seen(clone).changed(since, ("images",)) == {"images/a/x"}


def test_histories_without_a_common_commit(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--orphan", "other")
    commit(repository, images__a__x="2")
    since = seen(repository).since("main")
    assert since.note == "HEAD and `main` have no commit in common: compared with `main` as it is now"
    assert changed(repository, "main") == {"images/a/x"}


@pytest.mark.parametrize("revision", ["nope", "", "-x", "--all", "main..main", "HEAD:images", "a b"])
def test_no_revision(repository: Path, revision: str) -> None:
    with pytest.raises(Refused) as raised:
        seen(repository).since(revision)
    (only,) = raised.value.diagnostics
    assert (only.code, only.exit, only.message) == (
        "unknown-revision",
        2,
        f"git knows no revision `{revision}` here",
    )


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(Refused) as raised:
        seen(tmp_path).since("HEAD")
    (only,) = raised.value.diagnostics
    assert (only.code, only.exit, only.message) == ("no-repository", 2, f"`{tmp_path}` is in no git repository")


def test_a_bare_repository_has_no_files(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare")
    with pytest.raises(Refused) as raised:
        seen(tmp_path / "bare").since("HEAD")
    assert raised.value.diagnostics[0].code == "no-repository"


def test_no_git(repository: Path) -> None:
    with pytest.raises(Refused) as raised:
        Git(Real({"PATH": str(repository)}), repository).since("HEAD")
    (only,) = raised.value.diagnostics
    assert (only.code, only.exit, only.message) == ("git-failed", 1, "there is no program `git` on `PATH`")


def test_somebody_elses_repository(repository: Path) -> None:
    """What jobs of CI in containers meet."""
    asked = Git(Real({"PATH": "/usr/bin:/bin", "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}), repository)
    with pytest.raises(Refused) as raised:
        asked.since("HEAD")
    (only,) = raised.value.diagnostics
    assert (only.code, only.exit) == ("git-failed", 1)
    assert only.message == f"git does not open `{repository}`: it belongs to somebody else"
    assert only.help == f"`git config --global --add safe.directory {repository}` says that you trust it"


def test_a_repository_that_is_broken(repository: Path) -> None:
    asked = seen(repository)
    since = asked.since("HEAD")
    (repository / ".git/index").write_bytes(b"nothing")
    with pytest.raises(Refused) as raised:
        asked.changed(since, ("images",))
    (only,) = raised.value.diagnostics
    assert (only.code, only.exit) == ("git-failed", 1)
    assert only.message.startswith("`git diff` failed: ")
