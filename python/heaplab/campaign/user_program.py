"""One run of a user's program, with its standard input; a short program is executed several times."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import IO

from heaplab.campaign import standard_input
from heaplab.errors import HeaplabError
from heaplab.machine.execute import Execution, Job, Steps, plain_environment
from heaplab.machine.repeat import in_a_row
from heaplab.machine.watch import INTERVAL_S, Limits
from heaplab.records import Campaign

SHORT_S = 0.050  # a program that takes less time is executed several times in a run
RUN_S = 0.2  # intended duration of a run of a short program
START_S = 0.005  # time that heaplab needs to start a process
SHORT_INTERVAL_S = 0.001  # time between two samples of the memory of a short program


def executions_of(wall: float, most: float) -> int:
    """The number of executions in a run, if one takes `wall` s and all together may take `most` s."""
    return max(1, ceil(min(RUN_S, most) / (wall + START_S))) if wall < SHORT_S else 1


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
        return without_memory(execution) if pilot and not pilot.memory else execution

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


def without_memory(execution: Execution) -> Execution:
    unseen: dict[str, object] = {"peak_memory": None, "mean_memory": None, "memory": []}
    return replace(execution, process=execution.process.model_copy(update=unseen))
