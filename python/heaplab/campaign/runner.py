"""The loop of a campaign: takes the next run from the plan, measures it and stores its record at once."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from heaplab.campaign import plan
from heaplab.campaign.plan import Block, Candidate, Comparison
from heaplab.campaign.store import Store
from heaplab.records import Campaign, End, Run, Status

Attempt = Callable[[Block, Candidate, int, int], Run]  # block, candidate, order, attempt
Precise = Callable[[Comparison, Sequence[Run]], bool]  # whether all intervals are narrow enough


@dataclass(frozen=True)
class Progress:
    """The state of a campaign that a listener gets before each run."""

    candidate: Candidate
    block: int
    finished: int  # planned runs that are complete
    most: int  # all planned runs, if every comparison takes its largest number of blocks
    elapsed: float  # s of the budget spent so far
    remaining: float  # s until the end at most, if later runs take as long as earlier ones
    limit: float  # s that the next run may take
    expected: float | None = None  # s that the previous run of this candidate took

    def left(self, running: float) -> float:
        """Seconds until the end at most, when the present run has lasted `running` s.

        A run that lasts longer than expected may last until its limit.
        """
        end = self.limit if self.expected is None or running > self.expected else self.expected
        return max(self.remaining - running, end - running, 0.0)


@dataclass
class Runner:
    """Executes the runs that a campaign still lacks.

    Clock, measurer, store and listener are parameters, so that tests replace them.
    """

    campaign: Campaign
    attempt: Attempt
    store: Store
    runs: list[Run] = field(default_factory=list)  # runs of earlier sessions, and then of this session
    runs_of_earlier_budgets: int = 0  # number of runs that an earlier budget paid for
    spent: float = 0.0  # s of the budget that were spent before the first run of this session
    precise: Precise = lambda _cell, _runs: False
    listen: Callable[[Progress], None] = lambda _progress: None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._comparisons = plan.comparisons(self.campaign)
        self._closed: set[str] = set()  # keys of comparisons with precise intervals
        self._took: dict[str, float] = {}  # s that the last block of each comparison took
        self._lasted: dict[tuple[str, str], float] = {}  # s that the last run of each candidate took
        self._by_cell: dict[str, list[Run]] = {}
        for run in self.runs:
            self._by_cell.setdefault(plan.run_key(run), []).append(run)
        self._most = sum(map(runs_at_most, self._comparisons))
        self._least = plan.ROUNDS_AT_LEAST * sum(len(item.candidates) for item in self._comparisons)
        self._finished = sum(map(plan.settles, self.runs))
        self._before = wall_time(self.runs[: self.runs_of_earlier_budgets])
        self._began = self.clock() - self.spent - wall_time(self.runs[self.runs_of_earlier_budgets :])

    def run(self) -> End:
        """Measure until every comparison is precise or has all its blocks, or the budget is spent."""
        number = 0
        while still_open := [item for item in self._comparisons if self._is_open(item, number)]:
            for comparison in plan.round_order(self.campaign, still_open, number):
                if number >= plan.ROUNDS_AT_LEAST and self._beyond_budget(comparison):
                    return self._finish(End(reason="budget"))
                self._run_block(plan.block(self.campaign, comparison, number))
            number += 1
        all_precise = len(self._closed) == len(self._comparisons)
        return self._finish(End(reason="precise" if all_precise else "blocks"))

    def _finish(self, end: End) -> End:
        self.store.append(end)
        self.store.sync()
        return end

    def _is_open(self, comparison: Comparison, number: int) -> bool:
        """Whether a comparison needs block `number`.

        Closes a comparison whose intervals are narrow enough.
        """
        if comparison.key in self._closed or number >= comparison.blocks_most:
            return False
        if number in plan.looks(comparison.blocks, comparison.blocks_most):
            before = [run for run in self._runs_of(comparison) if run.block < number]
            if self.precise(comparison, before):
                self._closed.add(comparison.key)
                self._most -= runs_at_most(comparison)
                return False
        return True

    def _beyond_budget(self, comparison: Comparison) -> bool:
        budget = self.campaign.budget
        return budget is not None and self._elapsed() + self._took.get(comparison.key, 0.0) > budget

    def _elapsed(self) -> float:
        """Seconds of the budget spent so far."""
        return self.clock() - self._began

    def _runs_of(self, comparison: Comparison) -> list[Run]:
        return [run for cell in comparison.cells for run in self._by_cell.get(cell.key, [])]

    def _run_block(self, block: Block) -> None:
        runs = self._runs_of(block.comparison)
        done, given_up = plan.done(runs), plan.given_up(runs)
        missing = [
            candidate
            for candidate in block.order
            if (candidate.cell.key, block.number, candidate.allocator) not in done
            and candidate.key not in given_up
        ]
        began = self.clock()
        for candidate in missing:
            first = 0 if self._room_to_repeat() else 1
            if self._run_once(block, candidate, first).status is Status.VOID and first == 0:
                self._run_once(block, candidate, 1)
        if missing:
            self._took[block.comparison.key] = self.clock() - began

    def _run_once(self, block: Block, candidate: Candidate, attempt: int) -> Run:
        self.listen(self._progress(block, candidate))
        began = self.clock()
        run = self.attempt(block, candidate, len(self.runs), attempt)
        self._lasted[candidate.key] = self.clock() - began
        self.runs.append(run)
        self._finished += plan.settles(run)
        self._by_cell.setdefault(candidate.cell.key, []).append(run)
        self.store.append(run)
        return run

    def _pace(self) -> float:
        """Mean seconds for a planned run, including repetitions; 0 before the first run."""
        return (self._before + self._elapsed()) / self._finished if self._finished else 0.0

    def _must(self) -> float:
        """Seconds for the remaining rounds that the budget may not cut off."""
        return self._pace() * max(0, self._least - self._finished)

    def _room_to_repeat(self) -> bool:
        """Whether the budget has room to repeat a disturbed run. Without room, the first attempt counts."""
        budget = self.campaign.budget
        return budget is None or self._elapsed() + self._must() + self._pace() <= budget

    def _progress(self, block: Block, candidate: Candidate) -> Progress:
        elapsed = self._elapsed()
        remaining = self._pace() * max(0, self._most - self._finished) if self._finished else float("inf")
        if self.campaign.budget is not None:
            remaining = min(remaining, max(self._must(), self.campaign.budget - elapsed))
        return Progress(
            candidate,
            block.number,
            self._finished,
            self._most,
            elapsed,
            remaining,
            limit=plan.time_limit(self.campaign, candidate.cell),
            expected=self._lasted.get(candidate.key),
        )


def runs_at_most(comparison: Comparison) -> int:
    return comparison.blocks_most * len(comparison.candidates)


def wall_time(runs: Iterable[Run]) -> float:
    """Seconds of all processes together."""
    return sum(run.process.wall_time * run.process.executions for run in runs if run.process)
