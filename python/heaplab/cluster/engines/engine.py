"""What `heaplab campaign` asks of an engine. A new one is a module with these four functions in `ENGINES`."""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from heaplab.cluster.plan_folder import Plan
from heaplab.errors import UsageError

FOLDER = "engines"  # of a plan: logs, and what an engine must remember
ANSWER_S = 120.0  # s that a tool of an engine may take to answer
# Text of a file that another tool carries out.
Form = Callable[[Plan], str]


@dataclass(frozen=True)
class Submission:
    """What a user asks of `submit` beside the plan."""

    hosts: str = ""  # with commas, or a file
    copy_to: str = ""  # folder for copies of the plan on hosts that do not share its folder
    options: tuple[str, ...] = ()  # for the engine's own tool


@dataclass(frozen=True)
class Held:
    """What an engine does at this moment."""

    shards: dict[int, str]  # with each that it holds: "running on n1", "waiting: Priority"
    troubles: tuple[str, ...] = ()  # parts of it that gave no answer, in one line each


class Engine(Protocol):
    """Something that carries out shards.

    It keeps no account of its own: it must give the right answers after a restart of the engine, a closed
    terminal or a dead node. A shard that is submitted twice is no error: it counts once, by its hash.
    """

    def submit(self, plan: Plan, shards: Sequence[int], submission: Submission) -> str:
        """Start these shards, and say so in one line. Raise UsageError with nothing changed if it cannot."""

    def held(self, plan: Plan) -> Held:
        """What it does now."""

    def fetch(self, plan: Plan) -> str:
        """Bring results files into the folder of the plan, and say in one line what came."""

    def cancel(self, plan: Plan) -> str:
        """Stop the shards that it holds, and say so in one line. What was measured stays."""


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
    """Run a tool of an engine. Raises UsageError if it is missing or does not answer."""
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
    """What a tool wrote on standard error, in one line without repetitions."""
    lines = dict.fromkeys(line.strip() for line in errors.decode(errors="replace").splitlines())
    return "; ".join(line for line in lines if line)
