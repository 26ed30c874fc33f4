"""The functions that `heaplab cluster` calls of an engine. `ENGINES` names the modules that have them."""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from heaplab.cluster.plan_folder import Plan
from heaplab.errors import UsageError

FOLDER = "engines"  # in the folder of a plan: logs, and facts that an engine must remember
ANSWER_S = 120.0  # s that a tool of an engine may take to answer
Form = Callable[[Plan], str]  # makes the text of a file for another tool, which carries out the plan


@dataclass(frozen=True)
class Submission:
    """The options of `heaplab cluster submit`."""

    hosts: str = ""  # names separated by commas, or a file with names
    copy_to: str = ""  # folder for copies of the plan on hosts that do not share its folder
    options: tuple[str, ...] = ()  # for the engine's own tool


@dataclass(frozen=True)
class Held:
    """The shards that an engine has and that are not complete."""

    shards: dict[int, str]  # the state of each: "running on n1", "waiting: Priority"
    troubles: tuple[str, ...] = ()  # hosts and tools that gave no answer, a line each


class Engine(Protocol):
    """Carries out shards.

    An engine keeps no account of its own: it must give the right answers after a restart of the engine, a
    closed terminal or a dead node. A shard that is submitted twice is no error: it counts once, by its hash.
    """

    def submit(self, plan: Plan, shards: Sequence[int], submission: Submission) -> str:
        """Start the shards, and say so in one line. If they cannot be started, raise UsageError."""

    def held(self, plan: Plan) -> Held:
        """The shards that the engine has now."""

    def fetch(self, plan: Plan) -> str:
        """Bring results files into the folder of the plan, and say in one line how many."""

    def cancel(self, plan: Plan) -> str:
        """Stop the shards that the engine has, and say so in one line. Results so far stay."""


def engine_folder(plan: Plan) -> Path:
    return plan.folder.resolve() / FOLDER


def answer(
    command: Sequence[str],
    *,
    engine: str,
    package: str,
    source: Path | None = None,
    seconds: float = ANSWER_S,
) -> subprocess.CompletedProcess[bytes]:
    """Run a tool of an engine. Raises UsageError if the tool is missing or does not answer."""
    try:
        with Path(source or os.devnull).open("rb") as stream:
            return subprocess.run(command, stdin=stream, capture_output=True, timeout=seconds, check=False)
    except FileNotFoundError:
        raise UsageError(
            f"{engine}: {command[0]} is not installed on this machine; it comes with {package}"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{engine}: {command[0]} gave no answer in {seconds:g} s") from None


def said(errors: bytes) -> str:
    """The standard error of a tool, in one line without repetitions."""
    lines = dict.fromkeys(line.strip() for line in errors.decode(errors="replace").splitlines())
    return "; ".join(line for line in lines if line)
