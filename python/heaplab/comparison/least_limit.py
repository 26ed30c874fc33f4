"""The search for the least memory limits of one arm: under which it completes, and under which in its time.

A limit costs time in two ways: memory is reclaimed, which is CPU time, and what was dropped is read again,
which is major faults and waiting. So a busy machine is told from a limit that is too small.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

STEP = 1 << 16  # B: the largest page; limits are multiples of it
FINE = 100  # an answer is at most a hundredth of the arm's peak too large, or a STEP
CONFIRMED = 3  # runs in turn that must do under a limit
MOST_TIME = 1.1
SLACK_S = 0.005  # by which the CPU time of a short program varies
DOUBLED = 3  # times at most that a limit is doubled where that of the peak does not do


class LimitOutcome(StrEnum):
    DONE = "completes"
    KILLED = "killed for memory"
    FAILED = "ends badly"  # some programs find out by themselves that memory is short
    TOO_LONG = "does not end"
    UNKNOWN = "could not be tried"


@dataclass(frozen=True)
class LimitTrial:
    """A run under a limit or without one."""

    outcome: LimitOutcome
    wall_time: float = 0.0  # s
    cpu_time: float = 0.0
    major_faults: int = 0
    peak: int = 0  # B, as a limit counts them
    reason: str = ""


@dataclass(frozen=True)
class Fit:
    """What an arm needs. None: under no limit that was tried."""

    free: LimitTrial  # the best of the runs without a limit
    completes: int | None  # B
    keeps_time: int | None  # B
    below: LimitOutcome | None  # of the last run under a limit that was too small
    runs: int
    # B: limits known to be too small, where the budget ended the search.
    completes_above: int | None = None
    keeps_time_above: int | None = None


class BudgetSpentError(Exception):
    """No time is left for a run."""


Run = Callable[[int | None], LimitTrial]  # under a limit in B, or without one; raises BudgetSpentError


class LimitSearch:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._count = 0
        self._below: LimitOutcome | None = None
        self._free = LimitTrial(LimitOutcome.FAILED)

    def fit(self) -> Fit | LimitTrial:
        """What the arm needs; the failed run of an arm that does not even complete without a limit."""
        try:
            free = [self._trial(None) for _ in range(CONFIRMED)]
        except BudgetSpentError:
            return LimitTrial(LimitOutcome.UNKNOWN, reason="the budget was spent")
        if bad := next((trial for trial in free if trial.outcome is not LimitOutcome.DONE), None):
            return bad
        self._free = LimitTrial(
            LimitOutcome.DONE,
            min(trial.wall_time for trial in free),
            min(trial.cpu_time for trial in free),
            max(trial.major_faults for trial in free),
            max(trial.peak for trial in free),
        )
        top = max(1, -(-self._free.peak // STEP))
        completes, keeps = Halving(0), Halving(0)
        with suppress(BudgetSpentError):
            completes.run(self._completes, top)
            if completes.good is None or self._keeps_time(completes.good):
                keeps = completes
            else:
                keeps = Halving(completes.good)
                keeps.run(self._keeps_time, max(top, completes.good + 1))
        return Fit(
            self._free,
            in_bytes(completes.good),
            in_bytes(keeps.good),
            self._below,
            self._count,
            None if completes.ended else completes.bad * STEP,
            None if keeps.ended else max(keeps.bad, completes.bad) * STEP,
        )

    def _trial(self, limit: int | None) -> LimitTrial:
        self._count += 1
        return self._run(limit)

    def _trials(self, steps: int) -> list[LimitTrial]:
        """Runs that complete under a limit; fewer than CONFIRMED if one does not."""
        completed: list[LimitTrial] = []
        while len(completed) < CONFIRMED:
            trial = self._trial(steps * STEP)
            if trial.outcome is not LimitOutcome.DONE:
                self._below = trial.outcome
                break
            completed.append(trial)
        return completed

    def _completes(self, steps: int) -> bool:
        return len(self._trials(steps)) == CONFIRMED

    def _keeps_time(self, steps: int) -> bool:
        trials = self._trials(steps)
        return len(trials) == CONFIRMED and in_time(trials, self._free)


def in_time(trials: Sequence[LimitTrial], free: LimitTrial) -> bool:
    """Whether a limit costs no more than MOST_TIME, by the best of the runs under it."""
    computes = min(trial.cpu_time for trial in trials) <= MOST_TIME * free.cpu_time + SLACK_S
    reads = min(trial.major_faults for trial in trials) > free.major_faults
    waits = min(trial.wall_time for trial in trials) > MOST_TIME * free.wall_time + SLACK_S
    return computes and not (reads and waits)


def in_bytes(steps: int | None) -> int | None:
    return steps * STEP if steps else None


class Halving:
    """The search for the least number above `bad` that does, at most a FINE part of the first too large.

    `bad` and `good`, None if none is known, hold also where `does` raises.
    """

    def __init__(self, bad: int) -> None:
        self.bad = bad
        self.good: int | None = None
        self.ended = False

    def run(self, does: Callable[[int], bool], good: int) -> None:
        fine = max(1, good // FINE)
        for _ in range(DOUBLED):
            if does(good):
                self.good = good
                break
            self.bad, good = good, 2 * good
        while self.good is not None and self.good - self.bad > fine:
            middle = (self.good + self.bad) // 2
            if does(middle):
                self.good = middle
            else:
                self.bad = middle
        self.ended = True
