"""One run of a user's program, with its standard input; a short program is executed several times."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import IO

from heaplab.campaign import standard_input
from heaplab.errors import HeaplabError
from heaplab.machine.execute import Execution, Job, Steps, plain_environment
from heaplab.machine.watch import INTERVAL_S, Limits
from heaplab.results.records import SHORT_PROGRAM_S, Campaign, Process

RUN_S = 0.2  # intended duration of a run of a short program
START_S = 0.005  # time that heaplab needs to start a process
SHORT_INTERVAL_S = 0.001  # time between two samples of the memory of a short program
COUNTS = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")


def executions_of(wall: float, most: float) -> int:
    """The number of executions in a run, if one takes `wall` s and all together may take `most` s."""
    return max(1, ceil(min(RUN_S, most) / (wall + START_S))) if wall < SHORT_PROGRAM_S else 1


@dataclass(frozen=True)
class UserProgram:
    campaign: Campaign
    command: Sequence[str | Path]
    limits: Limits

    def run(
        self, environment: Mapping[str, str], *, errors: IO[bytes] | int, watch: Sequence[str]
    ) -> Steps[Execution]:
        """All executions of one run. Each reads its standard input from the beginning."""
        pilot = self.campaign.pilot
        count = pilot.executions if pilot else 1

        def once() -> Steps[Execution]:
            hook("--prepare", self.campaign.prepare)
            execution = yield from self._execute(environment, errors, watch, count)
            hook("--cleanup", self.campaign.cleanup)
            return execution

        execution = yield from in_a_row(count, once)
        if not pilot or pilot.memory:
            return execution
        unseen: dict[str, object] = {"peak_memory": None, "mean_memory": None, "memory": []}
        return replace(execution, process=execution.process.model_copy(update=unseen))

    def _execute(
        self, environment: Mapping[str, str], errors: IO[bytes] | int, watch: Sequence[str], count: int
    ) -> Steps[Execution]:
        with standard_input.opened(self.campaign.input) as source:
            return (
                yield Job(
                    self.command,
                    dict(environment),
                    self.limits,
                    source=source,
                    errors=errors,
                    watch=watch,
                    interval=SHORT_INTERVAL_S if count > 1 else INTERVAL_S,
                )
            )


def in_a_row(count: int, once: Callable[[], Steps[Execution]]) -> Steps[Execution]:
    """Execute `count` times and merge the results.

    A failed execution ends the series and is returned alone.
    """
    done: list[Execution] = []
    for _ in range(count):
        done.append((yield from once()))
        if done[-1].exit_status != 0:
            return done[-1]
    return done[0] if count == 1 else merged(done)


def merged(done: Sequence[Execution]) -> Execution:
    """The means of times and counts, the largest peak with its curve, and all mapped files."""
    return Execution(
        exit_status=0,
        killed_for="",
        process=mean_of([execution.process for execution in done]),
        seen=sum(execution.seen for execution in done),
        mapped=set().union(*(execution.mapped for execution in done)),
    )


def mean_of(processes: Sequence[Process]) -> Process:
    def mean(name: str) -> float:
        return fmean(getattr(process, name) for process in processes)

    highest = max(processes, key=lambda process: process.peak_memory or 0)
    known = [process.mean_memory for process in processes if process.mean_memory is not None]
    return highest.model_copy(
        update={name: mean(name) for name in ("wall_time", "user_time", "system_time")}
        | {name: round(mean(name)) for name in COUNTS}
        | {"executions": len(processes), "mean_memory": fmean(known) if known else None}
    )


def hook(option: str, command: str) -> None:
    """Run a shell command before or after an execution, not measured. Raises HeaplabError if it fails."""
    if not command:
        return
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip().splitlines()
        raise HeaplabError(
            f"{option} {command!r} failed with exit status {done.returncode}{f': {said[-1]}' if said else ''}"
        )
