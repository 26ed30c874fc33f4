"""Carries out a campaign: asks the plan what is next, has it run, and stores every outcome at once."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from heaplab import plan
from heaplab.plan import Block, Cell
from heaplab.records import Campaign, End, Run, Status
from heaplab.store import Store

ROUNDS_AT_LEAST = 2  # before the budget may end a campaign: without a second block there is no interval

Attempt = Callable[[Block, str, int, int], Run]  # block, allocator, order, attempt
Precise = Callable[[Cell, Sequence[Run]], bool]  # are the intervals of this cell narrow enough?


@dataclass(frozen=True)
class Progress:
    """What a listener is told before each run."""

    cell: Cell
    allocator: str
    block: int
    finished: int  # runs so far
    most: int  # runs if every cell takes its most blocks
    elapsed: float  # s
    remaining: float  # s at most


@dataclass
class Runner:
    """What a campaign has, and how it gets the rest; all it does to the world comes in from outside."""

    campaign: Campaign
    attempt: Attempt
    store: Store
    runs: list[Run] = field(default_factory=list)  # of earlier sessions; grows
    precise: Precise = lambda _cell, _runs: False
    listen: Callable[[Progress], None] = lambda _progress: None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._cells = plan.cells(self.campaign)
        self._closed: set[str] = set()  # cells whose intervals were narrow enough at a look
        self._took: dict[str, float] = {}  # s of the last block of a cell
        earlier = sum(run.process.wall for run in self.runs if run.process)
        self._began = self.clock() - earlier

    def run(self) -> End:
        """Measure until every cell is precise enough or has its most blocks, or the budget is spent."""
        number = 0
        while cells := [cell for cell in self._cells if self._is_open(cell, number)]:
            for cell in plan.round_order(self.campaign, cells, number):
                if number >= ROUNDS_AT_LEAST and self._beyond_budget(cell):
                    return self._finish(End(reason="budget"))
                self._run_block(plan.block(self.campaign, cell, number))
            number += 1
        return self._finish(End(reason="precise" if len(self._closed) == len(self._cells) else "blocks"))

    def _finish(self, end: End) -> End:
        self.store.append(end)
        self.store.sync()
        return end

    def _is_open(self, cell: Cell, number: int) -> bool:
        """Whether a cell takes block `number`."""
        if cell.key in self._closed or number >= cell.blocks_most:
            return False
        if number in plan.looks(cell.blocks, cell.blocks_most):
            before = [run for run in self._runs_of(cell) if run.block < number]
            if self.precise(cell, before):
                self._closed.add(cell.key)
                return False
        return True

    def _beyond_budget(self, cell: Cell) -> bool:
        budget = self.campaign.budget
        return budget is not None and self._elapsed() + self._took.get(cell.key, 0.0) > budget

    def _elapsed(self) -> float:
        return self.clock() - self._began

    def _runs_of(self, cell: Cell) -> list[Run]:
        return [run for run in self.runs if plan.run_key(run) == cell.key]

    def _run_block(self, block: Block) -> None:
        runs = self._runs_of(block.cell)
        done, given_up = plan.done(runs), plan.given_up(runs)
        missing = [
            allocator
            for allocator in block.order
            if (block.cell.key, block.number, allocator) not in done
            and (block.cell.key, allocator) not in given_up
        ]
        began = self.clock()
        for allocator in missing:
            self.listen(self._progress(block, allocator))
            if self._run_once(block, allocator, 0).status is Status.VOID:
                self._run_once(block, allocator, 1)
        if missing:
            self._took[block.cell.key] = self.clock() - began

    def _run_once(self, block: Block, allocator: str, attempt: int) -> Run:
        run = self.attempt(block, allocator, len(self.runs), attempt)
        self.runs.append(run)
        self.store.append(run)
        return run

    def _progress(self, block: Block, allocator: str) -> Progress:
        most = sum(cell.blocks_most * len(cell.allocators) for cell in self._open_cells())
        finished, elapsed = len(self.runs), self._elapsed()
        remaining = elapsed / finished * max(0, most - finished) if finished else float("inf")
        if self.campaign.budget is not None:
            remaining = min(remaining, max(0.0, self.campaign.budget - elapsed))
        return Progress(block.cell, allocator, block.number, finished, most, elapsed, remaining)

    def _open_cells(self) -> Iterable[Cell]:
        return (cell for cell in self._cells if cell.key not in self._closed)
