"""Carries out several runs at the same time, in turns of some milliseconds on the same CPUs.

Whatever slows the machine for longer than a few turns slows all runs alike. Each run is judged by its own CPU
time, or by its own time, the sum of its turns. All threads and processes of a run are stopped together, by
SIGSTOP to their process group. A program cannot catch SIGSTOP, and most programs cannot notice it. Runs of
programs that may notice a pause do not take turns; see campaign/timing.py.
"""

import contextlib
import mmap
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from heaplab.machine.execute import CannotStartError, Execution, Job, Launched, Steps
from heaplab.machine.watch import Watcher, kill_group

SLICE_S = 0.020  # decision 45 has the measurements behind it
NANOSECONDS = 1e9
T = TypeVar("T")


@dataclass(frozen=True)
class Sliced(Generic[T]):
    """The result of a run that had turns, the sum of its turns in s, and their number."""

    result: T
    own: float
    turns: int


def in_slices(
    runs: Sequence[Steps[T]],
    weights: Sequence[float],
    tick: Callable[[], None] = lambda: None,
    cpus: frozenset[int] | None = None,
    seconds: float = SLICE_S,
) -> list[Sliced[T]]:
    """Carry out the runs at the same time; the results in the same order.

    `weights` are proportional to the time that each run is expected to take: turns are shared out so that all
    runs end at about the same time. All runs use `cpus`, if given. If runs consist of several executions, all
    begin the next execution together.
    """
    takers = [Taker(steps, weight) for steps, weight in zip(runs, weights, strict=True)]
    while ready := [taker for taker in takers if taker.job]:
        with contextlib.ExitStack() as at_end:
            for taker in ready:
                taker.start(at_end, tick, cpus)
            while going := [taker for taker in ready if taker.process]:
                min(going, key=lambda sliced: sliced.share).turn(seconds)
        for taker in ready:
            taker.advance()
    return [Sliced(cast(T, taker.result), taker.own, taker.turns) for taker in takers]


class Taker(Generic[T]):
    """A run that takes turns."""

    def __init__(self, steps: Steps[T], weight: float) -> None:
        self.job: Job | None = None  # the next execution of the run; None after the last
        self.process: Turns | None = None  # the process that executes the job
        self.result: T | None = None  # of the whole run
        self.own = 0.0
        self.turns = 0
        self._steps = steps
        self._weight = weight
        self._outcome: Execution | CannotStartError | None = None
        self.advance()

    @property
    def share(self) -> float:
        """The time of the run's turns so far, as a share of the time that it is expected to take."""
        assert self.process
        return (self.own + self.process.own) / self._weight

    def start(
        self, at_end: contextlib.ExitStack, tick: Callable[[], None], cpus: frozenset[int] | None
    ) -> None:
        assert self.job
        limits = replace(self.job.limits, cpus=cpus or self.job.limits.cpus)
        try:
            self.process = Turns(replace(self.job, limits=limits), at_end, tick)
        except CannotStartError as error:
            self._outcome = error

    def turn(self, seconds: float) -> None:
        assert self.process
        self.turns += 1
        if ended := self.process.take(seconds):
            self.own += self.process.own
            self._outcome, self.process = ended, None

    def advance(self) -> None:
        """Let the run go on to its next execution, or to its result."""
        try:
            if isinstance(self._outcome, CannotStartError):
                self.job = self._steps.throw(self._outcome)
            else:
                self.job = self._steps.send(cast(Execution, self._outcome))
        except StopIteration as end:
            self.job, self.result = None, end.value


class Turns:
    """A process that is stopped except during its turns, of which the start is one; `own` is their time."""

    def __init__(self, job: Job, at_end: contextlib.ExitStack, tick: Callable[[], None]) -> None:
        self.own = 0.0
        self._page = PausePage(at_end) if job.knows_pauses else None
        self._launched: Launched = (self._page.known_to(job) if self._page else job).launched(at_end)
        self._watcher: Watcher = job.watcher(self._launched.child.pid, tick)
        self._ending: select.poll = self._launched.ending(at_end)
        self._began = self._launched.begin  # of the present turn
        self._stopped = self._began
        self._stop()

    def take(self, seconds: float) -> Execution | None:
        """Let the process run for `seconds`, or to its end, which is returned."""
        self._began = time.monotonic()
        if self._page:
            self._page.add(self._began - self._stopped)
        self._signal(signal.SIGCONT)
        until = self._began + seconds
        while (rest := until - time.monotonic()) > 0:
            if self._ending.poll(min(self._watcher.wait, rest) * 1000):
                return self._end("")
            if killed_for := self._watcher.sample(self.own + time.monotonic() - self._began):
                kill_group(self._launched.child.pid)
                self._ending.poll()
                return self._end(killed_for)
        self._stop()
        return None

    def _stop(self) -> None:
        self._signal(signal.SIGSTOP)
        self._stopped = time.monotonic()
        self.own += self._stopped - self._began

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # the process has ended meanwhile
            os.killpg(self._launched.child.pid, number)

    def _end(self, killed_for: str) -> Execution:
        self.own += time.monotonic() - self._began
        kill_group(self._launched.child.pid)  # its remaining processes would run beside the other runs
        return self._launched.execution(self._watcher, killed_for, self.own)


class PausePage:
    """The ns for which a process was stopped, on a page that the process reads (src/probes/tick_clock.h)."""

    def __init__(self, at_end: contextlib.ExitStack) -> None:
        self._descriptor = os.memfd_create("heaplab-pauses")
        at_end.callback(os.close, self._descriptor)
        os.ftruncate(self._descriptor, mmap.PAGESIZE)
        self._words = memoryview(mmap.mmap(self._descriptor, mmap.PAGESIZE)).cast("Q")

    def add(self, seconds: float) -> None:
        self._words[0] += round(seconds * NANOSECONDS)

    def known_to(self, job: Job) -> Job:
        environment = {**job.environment, "HEAPLAB_PAUSED": str(self._descriptor)}
        return replace(job, environment=environment, pass_fds=[*job.pass_fds, self._descriptor])
