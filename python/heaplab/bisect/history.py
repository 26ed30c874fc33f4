"""The commits of a git repository, and builds of them in working trees of their own."""

import contextlib
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from heaplab.catalog.locate import user_cache
from heaplab.catalog.obtain import telling
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine.execute import plain_environment

SHORT = 12  # digits of a commit's name that are shown
BUILT = "built"  # the file that marks a tree as built
SEPARATOR = "\x1f"
FORMAT = "--format=%H%x1f%s%x1f%an%x1f%as"


class CannotBuildError(HeaplabError):
    """A commit does not build. The message says why in one line."""


@dataclass(frozen=True)
class Commit:
    name: str
    subject: str
    author: str
    date: str

    @property
    def short(self) -> str:
        return self.name[:SHORT]


class Repository:
    """The user's repository. Only git's list of its working trees is changed."""

    def __init__(self, place: Path) -> None:
        if not shutil.which("git"):
            raise HeaplabError("bisect: git is not on this machine")
        # Under the variables that git sets for a hook, git would act on the hook's repository.
        told = subprocess.run(
            ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=False
        )
        hook = set(told.stdout.split())
        self.environment = {name: value for name, value in plain_environment().items() if name not in hook}
        self._place = place
        self.common = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    def git(self, *words: str) -> str:
        """The output of a git command. Raises UsageError with git's own words."""
        # Hooks are off: one of the user's hooks would act on a checkout that the user did not make.
        command = ["git", "-C", str(self._place), "-c", f"core.hooksPath={os.devnull}", *words]
        done = subprocess.run(
            command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            said = (done.stderr.strip() or "failed without a word").splitlines()[0]
            raise UsageError(f"{self._place}: git {words[0]}: {said.removeprefix('fatal: ')}")
        return done.stdout.strip()

    def line(self, text: str) -> list[Commit]:
        """The commits from OLD to NEW along first parents, OLD first; a merge counts as one commit.

        Raises UsageError for text that is no range, and for a range in which OLD is not before NEW.
        """
        old, dots, new = text.partition("..")
        if not (old and dots and new) or new.startswith("."):
            raise UsageError(f"bisect: {text!r} is no range OLD..NEW, such as v1.0..HEAD")
        first, last = (self.git("rev-parse", "--verify", f"{name}^{{commit}}") for name in (old, new))
        after = self.git("log", "--first-parent", "--reverse", FORMAT, f"{first}..{last}").splitlines()
        commits = [Commit(*line.split(SEPARATOR)) for line in [self.git("show", "-s", FORMAT, first), *after]]
        if not after or self.git("rev-parse", f"{commits[1].name}^") != first:
            raise UsageError(f"bisect: {old} is not before {new} along first parents")
        return commits

    def check_out(self, commit: str, tree: Path) -> None:
        tree.parent.mkdir(parents=True, exist_ok=True)
        self.remove(tree)
        self.git("worktree", "add", "--quiet", "--detach", "--force", str(tree), commit)

    def remove(self, tree: Path) -> None:
        if tree.exists():
            with contextlib.suppress(UsageError):  # git does not know a tree whose checkout was interrupted
                self.git("worktree", "remove", "--force", str(tree))
            shutil.rmtree(tree, ignore_errors=True)


class CommitBuilds:
    """Builds of commits, each made once and kept in the user's cache."""

    def __init__(self, repository: Repository, command: str) -> None:
        self._repository, self._command = repository, command
        key = hashlib.sha256(f"{repository.common}\n{command}".encode(errors="surrogateescape")).hexdigest()
        self.folder = user_cache() / "bisect" / key[:SHORT]

    def is_built(self, commit: Commit) -> bool:
        return (self.folder / commit.short / BUILT).exists()

    def tree(self, commit: Commit) -> Path:
        """The built tree of the commit. Raises CannotBuildError."""
        place = self.folder / commit.short
        tree, log = place / "tree", place / "log"
        if self.is_built(commit):
            return tree
        self._repository.check_out(commit.name, tree)
        with log.open("wb") as stream:
            status = subprocess.run(
                ["/bin/sh", "-c", self._command],
                cwd=tree,
                env=self._repository.environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
        if status:
            self._repository.remove(tree)
            said = telling(log.read_text(errors="replace").strip().splitlines())[-1][:200]
            raise CannotBuildError(f"does not build: {said} (all of it: {log})")
        (place / BUILT).touch()
        return tree
