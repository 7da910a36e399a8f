"""What git knows of a project: which of its files are others than at a revision.

Facts, of git 2.39: `rev-parse --verify` gives 128 for what is no revision; in a clone that is shallow a commit may be
there without what lies between it and HEAD, and then `merge-base` finds nothing. A repository that belongs to somebody
else is refused (`safe.directory`), as happens in containers of CI.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from launcher.execute.world import Ran, World
from launcher.text.diagnostic import Refused, refusal

_ENV = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
_PATIENCE = 300.0
_UNSAFE = re.compile(r"detected dubious ownership in repository at '(.+)'")


@dataclass(frozen=True)
class Since:
    """A point in a project's history: `commit`, and `note` where it is another than one would expect."""

    commit: str
    note: str | None = None


@dataclass(frozen=True)
class Git:
    """The repository around `folder`, seen from there: paths are relative to `folder`."""

    world: World
    folder: Path

    def since(self, revision: str) -> Since:
        """Where HEAD left `revision`: what others changed there since is none of ours.

        Raises Refused for what is no repository, or no revision of it.
        """
        self._repository()
        commit = self._commit(revision)
        base = self._git("merge-base", commit, "HEAD")
        if base.exit == 0:
            return Since(base.out.strip())
        why = "this clone is shallow" if self._shallow() else f"HEAD and `{revision}` have no commit in common"
        return Since(commit, f"{why}: compared with `{revision}` as it is now")

    def changed(self, since: Since, paths: Collection[str]) -> frozenset[str]:
        """Files under `paths` that are others than then, gone or new, committed or not. Raises Refused."""
        words = ("--", *(f":(literal){path}" for path in sorted(paths)))
        # A file that was renamed counts under both names.
        tracked = self._told("diff", "--name-only", "--no-renames", "--relative", "-z", since.commit, *words)
        fresh = self._told("ls-files", "--others", "--exclude-standard", "-z", *words)
        return frozenset(name for said in (tracked, fresh) for name in said.split("\0") if name)

    def _repository(self) -> None:
        found = self._git("rev-parse", "--is-inside-work-tree")
        if found.exit == 0 and found.out.strip() == "true":
            return
        if unsafe := _UNSAFE.search(found.err):
            advice = f"`git config --global --add safe.directory {unsafe[1]}` says that you trust it"
            raise refusal("git-failed", f"git does not open `{unsafe[1]}`: it belongs to somebody else", advice, 1)
        where = f"`{self.folder}` is in no git repository"
        raise refusal("no-repository", where, "without `--changed-since` every image is listed")

    def _commit(self, revision: str) -> str:
        # A name that starts with a dash would be read as an option, and no revision has one.
        if revision and not revision.startswith("-"):
            found = self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
            if found.exit == 0:
                return found.out.strip()
        if self._shallow():
            advice = "this clone is shallow: fetch it (`fetch-depth: 0` of actions/checkout, `GIT_DEPTH: 0` of GitLab)"
        else:
            advice = "a commit, branch or tag of this repository; `git fetch` brings those of its remotes"
        raise refusal("unknown-revision", f"git knows no revision `{revision}` here", advice)

    def _shallow(self) -> bool:
        return self._git("rev-parse", "--is-shallow-repository").out.strip() == "true"

    def _told(self, *words: str) -> str:
        done = self._git(*words)
        if done.exit != 0:
            said = (done.err.strip().splitlines() or [f"exit code {done.exit}"])[0].removeprefix("fatal: ")
            raise refusal("git-failed", f"`git {words[0]}` failed: {said}", status=1)
        return done.out

    def _git(self, *words: str) -> Ran:
        env = {**self.world.environ, **_ENV}
        try:
            return self.world.run(["git", "-C", str(self.folder), *words], env=env, patience=_PATIENCE)
        except FileNotFoundError:
            raise _absent() from None


def _absent() -> Refused:
    advice = "install it; without `--changed-since` every image is listed, and git is not asked"
    return refusal("git-failed", "there is no program `git` on `PATH`", advice, 1)
