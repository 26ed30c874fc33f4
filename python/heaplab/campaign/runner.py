"""The loop of a campaign: takes the next run from the plan, measures it and stores its record at once.

The first block of every comparison runs one after the other, and decides how its experiment is timed
(campaign/timing.py). Later blocks run in slices where that is valid; the first block does not count then, and
the comparison takes one more. Where a plan decided it, every block runs as the plan says, and counts.

The budget is kept: a block is begun only if another one as long as the last block of its comparison fits, and
a run that is alone ends before OVER times the budget is spent. After FEWEST_RUNS and a QUARTER of what the
pilot runs left of the budget, the campaign ends with an error if not even two rounds fit. Runs that are void
because of foreign load may take a FIFTH of the budget; later disturbed runs count.
"""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import fmean

from heaplab.campaign import plan, timing
from heaplab.campaign.plan import Block, Candidate, Comparison
from heaplab.errors import HeaplabError
from heaplab.results.records import Campaign, End, Run, Status, Timing
from heaplab.results.store import Store

Attempt = Callable[[Block, Candidate, int, int], Run]  # block, candidate, order, attempt
Together = Callable[[Block, Sequence[Candidate], Sequence[float], int, bool], list[Run]]
Precise = Callable[[Comparison, Sequence[Run]], bool]  # whether all intervals are narrow enough
OVER = 1.1
QUARTER = 0.25
FEWEST_RUNS = 4
FIFTH = 0.2
SLACK_S = 5.0  # by which a budget of seconds may be exceeded
OF_RUNS = 0.8  # of what a budget may be exceeded by; the rest is for verdicts and their output


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


def begin_of_budget(now: float, spent: float, runs: Sequence[Run]) -> float:
    """When the budget would have begun, had all that it paid for so far happened just before `now`."""
    return now - spent - wall_time(runs)


def end_of_budget(budget: float | None, began: float) -> float:
    """When a budget that began then is exceeded for good; infinity without a budget."""
    return inf if budget is None else began + budget + OF_RUNS * (longest(budget) - budget)


def longest(budget: float) -> float:
    """Seconds that all may take, measuring and what follows."""
    return max(OVER * budget, budget + SLACK_S)


@dataclass
class Runner:
    """Executes the runs that a campaign still lacks.

    Clock, measurer, store and listener are parameters, so that tests replace them.
    """

    campaign: Campaign
    attempt: Attempt
    store: Store
    together: Together | None = None  # None: never in slices
    timings: dict[str, Timing] = field(default_factory=dict)  # by experiment, of all sessions
    runs: list[Run] = field(default_factory=list)  # runs of earlier sessions, and then of this session
    runs_of_earlier_budgets: int = 0  # number of runs that an earlier budget paid for
    spent: float = 0.0  # s of the budget that were spent before the first run of this session
    precise: Precise = lambda _cell, _runs: False
    # Asked before each round that a budget may cut off, with the seconds left of it.
    pointless: Callable[[float], bool] = lambda _left: False
    left_out: Collection[str] = ()  # allocators that are not run any more; may grow meanwhile
    listen: Callable[[Progress], None] = lambda _progress: None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._comparisons = plan.comparisons(self.campaign)
        self._closed: dict[str, int] = {}  # blocks after which a comparison's intervals were precise, by key
        self._took: dict[str, float] = {}  # s that the last block of each comparison took
        self._lasted: dict[tuple[str, str], float] = {}  # s that the last run of each candidate took
        self._void = 0.0  # s of runs that count for nothing because of others
        self._by_cell: dict[str, list[Run]] = {}
        for run in self.runs:
            self._by_cell.setdefault(run.key, []).append(run)
        self._least = plan.ROUNDS_AT_LEAST * sum(len(item.candidates) for item in self._comparisons)
        self._finished = sum(run.settles for run in self.runs)
        self._before = wall_time(self.runs[: self.runs_of_earlier_budgets])
        self._began = begin_of_budget(self.clock(), self.spent, self.runs[self.runs_of_earlier_budgets :])

    @property
    def until(self) -> float:
        """When the budget is exceeded for good, on the runner's clock."""
        return end_of_budget(self.campaign.budget, self._began)

    def run(self) -> End:
        """Measure until every comparison is precise or has all its blocks, or the budget is spent.

        Raises HeaplabError if the budget has no room for two rounds.
        """
        number = 0
        while still_open := [item for item in self._comparisons if self._is_open(item, number)]:
            if number >= plan.ROUNDS_AT_LEAST and self.pointless(self._left()):
                return self._finish(End(reason="budget"))
            for comparison in plan.round_order(self.campaign, still_open, number):
                if number >= plan.ROUNDS_AT_LEAST and self._beyond_budget(comparison):
                    return self._finish(End(reason="budget"))
                if not self._run_block(plan.block(self.campaign, comparison, number)):
                    return self._finish(End(reason="budget"))
            if number == 0:
                self._decide_timings()
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
        if number >= self._blocks_of(comparison) or self._nothing_left_to_compare(comparison):
            return False
        counted = number - self._uncounted(comparison)
        if counted in plan.looks(comparison.blocks, comparison.blocks_most):
            before = [run for run in self._runs_of(comparison) if run.block < number]
            if self.precise(comparison, before):
                self._closed[comparison.key] = number
                return False
        return True

    def _blocks_of(self, comparison: Comparison) -> int:
        """The largest number of blocks that a comparison may still take, those included that do not count."""
        return self._closed.get(comparison.key, comparison.blocks_most + self._uncounted(comparison))

    def _uncounted(self, comparison: Comparison) -> int:
        """The number of blocks that do not count: the first, if only later blocks run in slices."""
        return int(self._is_sliced(comparison) and self._one_cpu_of(comparison) is None)

    def _beyond_budget(self, comparison: Comparison) -> bool:
        budget = self.campaign.budget
        return budget is not None and self._elapsed() + self._took.get(comparison.key, 0.0) > budget

    def _elapsed(self) -> float:
        """Seconds of the budget spent so far."""
        return self.clock() - self._began

    def _left(self) -> float:
        """Seconds left of the budget; infinite without one."""
        return inf if self.campaign.budget is None else self.campaign.budget - self._elapsed()

    def _runs_of(self, comparison: Comparison) -> list[Run]:
        return [run for cell in comparison.cells for run in self._by_cell.get(cell.key, [])]

    def _nothing_left_to_compare(self, comparison: Comparison) -> bool:
        """Whether every candidate but the baseline, of several, has been given up."""
        given_up = plan.given_up(self._runs_of(comparison))
        baseline = comparison.cells[0].allocators[0]
        others = [
            candidate
            for candidate in comparison.candidates
            if plan.library_of(candidate.allocator) != baseline
        ]
        return bool(others) and all(
            other.key in given_up or other.allocator in self.left_out for other in others
        )

    def _decide_timings(self) -> None:
        for name in dict.fromkeys(comparison.experiment.id for comparison in self._comparisons):
            if name not in self.timings:
                among = [item for item in self._comparisons if item.experiment.id == name]
                first = [run for item in among for run in self._runs_of(item) if run.block == 0]
                self._set(timing.timing_of(self.campaign, among, first))

    def _set(self, decided: Timing) -> None:
        self.timings[decided.experiment] = decided
        self.store.append(decided)

    def _run_block(self, block: Block) -> bool:
        """Run what a block lacks; False if the budget has no room for all of it."""
        runs = self._runs_of(block.comparison)
        done, given_up = plan.done(runs), plan.given_up(runs)
        missing = [
            candidate
            for candidate in block.order
            if (candidate.cell.key, block.number, candidate.allocator) not in done
            and candidate.key not in given_up
            and candidate.allocator not in self.left_out
        ]
        began = self.clock()
        sliced = self._is_sliced(block.comparison) and block.number >= self._uncounted(block.comparison)
        if self.together and sliced and len(missing) > 1:
            complete = self._run_together(block, missing, self.together)
        else:
            complete = all(self._run_alone(block, candidate) for candidate in missing)
        if missing:
            self._took[block.comparison.key] = self.clock() - began
        return complete

    def _is_sliced(self, comparison: Comparison) -> bool:
        decided = self.timings.get(comparison.experiment.id)
        return decided is not None and decided.slices

    def _one_cpu_of(self, comparison: Comparison) -> bool | None:
        """Whether a plan has turns on one CPU; None if the first block of this campaign decides."""
        return self.timings[comparison.experiment.id].one_cpu

    def _run_together(self, block: Block, candidates: Sequence[Candidate], together: Together) -> bool:
        runs = self._runs_of(block.comparison)
        self.listen(self._progress(block, candidates[0]))
        began = self.clock()
        weights = weights_of(candidates, runs)
        one_cpu = planned = self._one_cpu_of(block.comparison)
        if one_cpu is None:
            one_cpu = timing.on_one_cpu(run for run in runs if run.block == 0)
        measured = together(block, candidates, weights, len(self.runs), one_cpu)
        if self._is_over(measured):
            return False
        for run in measured:
            self._keep(run)
        self._lasted |= dict.fromkeys((candidate.key for candidate in candidates), self.clock() - began)
        bad = next(filter(ended_badly, measured), None)
        if bad and planned is None and block.number == 1 and not any(ended_badly(run) for run in runs):
            why = f"two of it at once do not end well: {bad.reason}"
            undone = {"slices": False, "why_alone": why}
            self._set(self.timings[bad.experiment].model_copy(update=undone))
        return True

    def _run_alone(self, block: Block, candidate: Candidate) -> bool:
        first = 0 if self._may_be_void(block) and self._room_to_repeat() else 1
        run = self._run_once(block, candidate, first)
        if run.status is Status.VOID and first == 0:
            self._void += run.process.wall_time * run.process.executions if run.process else 0
            run = self._run_once(block, candidate, 1)
        return not self._is_over([run])

    def _may_be_void(self, block: Block) -> bool:
        """Whether foreign load makes a run void: not if CPU time decides, nor in a block that won't count."""
        if timing.is_by_request(block.comparison):
            return False
        if decided := self.timings.get(block.comparison.experiment.id):
            return decided.clock == timing.WALL
        return not self.together or bool(timing.why_never(self.campaign, [block.comparison]))

    def _run_once(self, block: Block, candidate: Candidate, attempt: int) -> Run:
        self._refuse_what_cannot_fit()
        self.listen(self._progress(block, candidate))
        began = self.clock()
        run = self.attempt(block, candidate, len(self.runs), attempt)
        if run.status is Status.OK and not self._may_be_void(block):
            run = run.model_copy(update={"reason": ""})  # foreign load does not matter to this run
        self._lasted[candidate.key] = self.clock() - began
        if not self._is_over([run]):
            self._keep(run)
        return run

    def _keep(self, run: Run) -> None:
        self.runs.append(run)
        self._finished += run.settles
        self._by_cell.setdefault(run.key, []).append(run)
        self.store.append(run)

    def _is_over(self, runs: Sequence[Run]) -> bool:
        """Whether the budget, and not a limit of its own, ended one of these runs."""
        return self.clock() >= self.until and any(run.status is Status.TIMEOUT for run in runs)

    def _refuse_what_cannot_fit(self) -> None:
        """Raise HeaplabError, early, if not even two rounds fit in the budget."""
        budget, elapsed = self.campaign.budget, self._elapsed()
        whole = elapsed + self._must()
        if budget is None or whole <= longest(budget):
            return
        if self._finished < FEWEST_RUNS or elapsed - self.spent < QUARTER * (budget - self.spent):
            return
        five = OVER * (elapsed + self._pace() * (self._least * 5 / plan.ROUNDS_AT_LEAST - self._finished))
        raise HeaplabError(
            f"two blocks of every cell take about {whole:.0f} s, more than the {budget:.4g} s that the "
            f"budget has for them; the five that a verdict takes need --budget {five:.0f}s, or fewer arms "
            "or experiments"
        )

    def _pace(self) -> float:
        """Mean seconds for a planned run, including repetitions; 0 before the first run."""
        measuring = self._before + self._elapsed() - self.spent
        return measuring / self._finished if self._finished else 0.0

    def _must(self) -> float:
        """Seconds for the remaining rounds that the budget may not cut off."""
        return self._pace() * max(0, self._least - self._finished)

    def _room_to_repeat(self) -> bool:
        """Whether a disturbed run may be repeated. If not, the first attempt counts."""
        budget = self.campaign.budget
        if budget is None:
            return True
        room = self._elapsed() + self._must() + self._pace() <= budget
        return room and self._void + self._pace() <= FIFTH * budget

    def _progress(self, block: Block, candidate: Candidate) -> Progress:
        elapsed = self._elapsed()
        most = sum(self._blocks_of(item) * len(item.candidates) for item in self._comparisons)
        remaining = self._pace() * max(0, most - self._finished) if self._finished else inf
        if self.campaign.budget is not None:
            remaining = min(remaining, max(self._must(), self.campaign.budget - elapsed))
        return Progress(
            candidate,
            block.number,
            self._finished,
            most,
            elapsed,
            remaining,
            limit=plan.time_limit(self.campaign, candidate.cell),
            expected=self._lasted.get(candidate.key),
        )


def weights_of(candidates: Sequence[Candidate], runs: Sequence[Run]) -> list[float]:
    """The CPU time that each candidate is expected to take, by its last run; of an unknown one, the mean."""
    last = {
        (run.key, run.allocator): run.process.user_time + run.process.system_time
        for run in runs
        if run.process and run.status is Status.OK
    }
    known = [last[candidate.key] for candidate in candidates if last.get(candidate.key)]
    usual = fmean(known) if known else 1.0
    return [last.get(candidate.key) or usual for candidate in candidates]


def ended_badly(run: Run) -> bool:
    return run.status in (Status.FAILED, Status.TIMEOUT)


def wall_time(runs: Iterable[Run]) -> float:
    """Seconds of all processes together."""
    return sum(run.process.wall_time * run.process.executions for run in runs if run.process)
