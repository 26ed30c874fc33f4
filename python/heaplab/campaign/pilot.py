"""Pilot runs before a campaign: does a user's program end, how long does it take, what fits in the budget."""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from heaplab.campaign import fit_lengths, plan
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Block, Candidate, Cell
from heaplab.campaign.runner import Progress
from heaplab.campaign.user_program import executions_of
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import deep_binding
from heaplab.machine.coverage import pilot_run
from heaplab.machine.coverage.executed_programs import not_seen
from heaplab.machine.coverage.tree_sampler import TreeSampler
from heaplab.machine.watch import FEWEST_SAMPLES
from heaplab.results.records import SHORT_PROGRAM_S, Arm, Campaign, Coverage, Pilot, Run, Status
from heaplab.stats import FEWEST_PAIRS
from heaplab.text.units import duration
from heaplab.traces import recording
from heaplab.traces.control import LOOKING, Control

PATIENCE = 3  # number of time limits that the first execution may take, so that its duration is found out
QUICK_S = 0.5  # a faster program has several pilot runs, because the first one reads files from the disk
PILOT_RUNS = 5
FEWEST_ARMS = 2  # of a comparison
ALL = 0.995  # of a budget, in whole per cent
ROOM = 1.1  # a suggested budget is larger than the measured time by this factor


@dataclass(frozen=True)
class PilotRunner:
    """Executes a user's program, or the cells of a suite, before the campaign. `say` gets one line."""

    libraries: dict[str, Arm]
    say: Callable[[str], None] = lambda _line: None
    listen: Callable[[Progress], None] = lambda _progress: None
    tick: Callable[[], None] = lambda: None
    share: float = 1.0  # part of the user's budget that is the campaign's
    leaves_out: bool = False  # whether allocators go for which the budget has no room
    needed: dict[str, int] = field(default_factory=dict)  # B, by key of the cell; gains the peaks seen here

    def __call__(self, campaign: Campaign) -> Campaign:
        """The campaign with the findings of the pilot runs, or unchanged if nothing depends on them.

        Raises HeaplabError if the program does not end, or takes too long for two blocks in the budget.
        """
        if campaign.fit_blocks and campaign.budget:
            return self._with_lengths(campaign)
        cell = plan.comparisons(campaign)[0].cells[0]
        if cell.workload.replays and campaign.budget:
            self._refuse_long_replays(campaign, campaign.budget)
        if not cell.workload.is_users:
            return campaign
        limit = plan.time_limit(campaign, cell)
        patience = campaign.time_limit or min(PATIENCE * limit, max(limit, campaign.budget or limit))
        runs = self._runs(campaign.model_copy(update={"time_limit": patience}), cell)
        if runs[-1].status is Status.TIMEOUT:
            raise HeaplabError(endless(campaign, cell, patience))
        if runs[-1].status is not Status.OK and cell.workload.server:
            raise HeaplabError(f"{cell.workload.title}: under {runs[-1].allocator}: {runs[-1].reason}")
        if runs[-1].status is not Status.OK and self.libraries[runs[-1].allocator].command:
            raise UsageError(f"{runs[-1].allocator}: {runs[-1].reason}; it is the baseline")
        if runs[-1].status is not Status.OK:
            return campaign  # the later runs report the reason under each library
        processes = [run.process for run in runs if run.process]
        wall = min(walls_of(runs))
        if self.leaves_out:
            campaign = self._with_those_that_fit(campaign, cell, wall)
            cell = plan.comparisons(campaign)[0].cells[0]
        if reason := too_long(campaign, [(cell, wall)], self.share):
            raise HeaplabError(reason)
        most = (campaign.budget or limit) / runs_of(cell, plan.ROUNDS_AT_LEAST)
        seen = wall >= SHORT_PROGRAM_S or all(process.peak_memory for process in processes)
        executions = 1 if cell.workload.server else executions_of(wall, most)
        covered = [] if campaign.instructions else self._covered(campaign, cell)
        pilot = Pilot(wall_time=wall, executions=executions, memory=seen, coverage=covered)
        tried = campaign.model_copy(update={"pilot": pilot})
        self.say(outcome_of_pilot(tried, cell, limit, self.share))
        return tried

    def _with_those_that_fit(self, campaign: Campaign, cell: Cell, wall: float) -> Campaign:
        """The campaign with the first allocators, as many as can have the blocks that a verdict takes.

        At least two go on, also where none can.
        """
        names, block = campaign.allocators, ROOM * FEWEST_PAIRS * wall  # s for each arm
        room = int(campaign.budget / block) - 1 if campaign.budget else len(names)  # beside the control
        if room >= len(names):
            return campaign
        said = f"one run takes {duration(wall)}: the {FEWEST_PAIRS} blocks that a verdict takes have room for"
        whole = as_option(block * (len(names) + 1) / self.share)
        fit = names[: max(room, FEWEST_ARMS)]
        going_on = "nothing will be decided" if room < FEWEST_ARMS else f"measuring {', '.join(fit)}"
        self.say(
            f"{said} {max(room, 0)} of {len(names)} allocators: {going_on}; --budget {whole} has room for all"
        )
        return campaign.model_copy(update={"allocators": fit})

    def _covered(self, campaign: Campaign, cell: Cell) -> list[Coverage]:
        """What malloc explains of the program's memory, by one more run, over the C library.

        None for a program of an arm of its own, of whose malloc nothing is claimed.
        """
        name = campaign.allocators[0]
        if self.libraries[name].command:
            return []
        block = plan.block(campaign, plan.comparisons(campaign)[0], 0)
        with (
            tempfile.TemporaryDirectory(prefix="heaplab-") as folder,
            Control(Path(folder), "tickets", 0, on=False) as control,
        ):
            control.switch(LOOKING)
            recorder = recording.recorder()
            libraries = {name: pilot_run.arm_by_brk(self.libraries[name], recorder, Path(folder))}
            sampler = TreeSampler(recorder, folder)
            with RunMeasurer(campaign, libraries, tick=self.tick, look=sampler.look) as measure:
                self._run(measure, campaign, block, cell, 0)
            processes = sampler.processes
            return pilot_run.found_by_brk([*processes, *not_seen(control.executed_programs(), processes)])

    def _with_lengths(self, campaign: Campaign) -> Campaign:
        """The campaign with cells as long as `fit_lengths` has it.

        Raises HeaplabError as soon as the budget is spent.
        """
        walls: dict[str, float] = {}
        began = time.monotonic()
        pilots = self._runs_of_cells(fit_lengths.pilot_campaign(campaign), fit_lengths.PILOT_RUNS)
        for tried, (cell, runs) in enumerate(pilots, 1):
            if known := walls_of(runs):
                walls[cell.key] = min(known)
            else:
                self.say(f"{cell.experiment.id} keeps its length, its pilot run failed: {runs[-1].reason}")
            if reason := spent_by_pilots(campaign, tried, time.monotonic() - began, self.share):
                raise HeaplabError(reason)
        return campaign.model_copy(update={"lengths": fit_lengths.lengths(campaign, walls)})

    def _refuse_long_replays(self, campaign: Campaign, budget: float) -> None:
        """Raise HeaplabError if two blocks do not fit in the budget, by the faster of two runs of each cell.

        The second runs are made only where the first are too slow: something may have held up the machine.
        """
        tried = campaign.model_copy(update={"time_limit": campaign.time_limit or budget})
        least: dict[str, float] = {}
        for _ in range(2):
            measured: list[tuple[Cell, float]] = []
            for cell, (run,) in self._runs_of_cells(tried, 1):
                if run.status is Status.TIMEOUT:
                    option = "time-limit" if campaign.time_limit else "budget"
                    raise HeaplabError(
                        f"{cell.experiment.title}: one run takes longer than "
                        f"{duration(campaign.time_limit or budget)}; give a larger --{option}"
                    )
                for wall in walls_of([run]):
                    least[cell.key] = min(wall, least.get(cell.key, wall))
                    measured.append((cell, least[cell.key]))
            reason = too_long(campaign, measured, self.share)
            if not reason:
                return
        raise HeaplabError(reason)

    def _runs_of_cells(self, campaign: Campaign, times: int) -> Iterator[tuple[Cell, list[Run]]]:
        """Pilot runs of every cell under the baseline."""
        with RunMeasurer(campaign, self.libraries, tick=self.tick) as measure:
            for comparison in plan.comparisons(campaign):
                block = plan.block(campaign, comparison, 0)
                for cell in comparison.cells:
                    yield cell, [self._run(measure, campaign, block, cell, n) for n in range(times)]

    def _runs(self, campaign: Campaign, cell: Cell) -> list[Run]:
        """Pilot runs under the baseline, until one fails: one, or more as `_has_run_enough` tells."""
        block = plan.block(campaign, plan.comparisons(campaign)[0], 0)
        runs: list[Run] = []
        with (
            tempfile.TemporaryDirectory(prefix="heaplab-") as folder,
            RunMeasurer(
                campaign, self.libraries, tick=self.tick, extra_environment=deep_binding.told_to(Path(folder))
            ) as measure,
        ):
            while not self._has_run_enough(campaign, cell, runs):
                runs.append(self._run(measure, campaign, block, cell, len(runs)))
            if line := deep_binding.warning(deep_binding.opened(Path(folder))):
                self.say(f"warning: {line}")
        return runs

    def _has_run_enough(self, campaign: Campaign, cell: Cell, runs: Sequence[Run]) -> bool:
        """A server runs once, a fast program several times. A program whose first run seems too slow for the
        budget runs again, because something may have held up the machine."""
        if not runs:
            return False
        if cell.workload.server or len(runs) == PILOT_RUNS:
            return True
        last = walls_of(runs[-1:])
        is_held_up = len(runs) == 1 and bool(last and too_long(campaign, [(cell, last[0])], self.share))
        return not (is_held_up or (last and last[0] < QUICK_S))

    def _run(self, measure: RunMeasurer, campaign: Campaign, block: Block, cell: Cell, number: int) -> Run:
        """One pilot run, under the baseline."""
        candidate = Candidate(cell, campaign.allocators[0])
        limit = plan.time_limit(campaign, cell)
        self.listen(Progress(candidate, -1, 0, 0, 0.0, remaining=limit, limit=limit))
        run = measure(block, candidate, number, attempt=1)
        peak = run.process.peak_memory if run.process else None
        self.needed[cell.key] = max(self.needed.get(cell.key, 0), peak or 0)
        return run


def runs_of(cell: Cell, blocks: int) -> int:
    """The number of runs in `blocks` blocks."""
    return blocks * len(cell.allocators)


def walls_of(runs: Iterable[Run]) -> list[float]:
    """Wall times, s, of the runs that ended well."""
    return [run.process.wall_time for run in runs if run.status is Status.OK and run.process]


def too_long(campaign: Campaign, measured: Sequence[tuple[Cell, float]], share: float = 1.0) -> str:
    """Why the budget is too small for the cells, each with the s of a run; "" if it suffices."""
    block = sum(runs_of(cell, 1) * wall for cell, wall in measured)
    if campaign.budget is None or plan.ROUNDS_AT_LEAST * block <= campaign.budget:
        return ""
    blocks = (plan.ROUNDS_AT_LEAST, FEWEST_PAIRS)
    two, enough = (ROOM * block * number / share for number in blocks)
    longest = duration(max(wall for _, wall in measured))
    took = f"one run took {longest}" if len(measured) == 1 else f"runs took up to {longest}"
    return (
        f"{measured[0][0].workload.title}: {took}, so two blocks of "
        f"{sum(runs_of(cell, 1) for cell, _ in measured)} runs "
        f"do not fit in {budget_in_words(campaign.budget, share)}; "
        f"--budget {as_option(two)} is enough for two, --budget {as_option(enough)} for the "
        f"{FEWEST_PAIRS} that a verdict takes; fewer arms need less"
    )


def spent_by_pilots(campaign: Campaign, tried: int, took: float, share: float) -> str:
    """Why the budget is too small if pilot runs of the first `tried` cells took `took` s, else ""."""
    if campaign.budget is None or took <= campaign.budget:
        return ""
    cells = fit_lengths.cells(campaign)
    runs = fit_lengths.PILOT_RUNS * len(cells) + sum(runs_of(cell, FEWEST_PAIRS) for cell in cells)
    whole = ROOM * took / (fit_lengths.PILOT_RUNS * tried) * runs / share
    return (
        f"pilot runs of {tried} of {len(cells)} cells took {duration(took)}, and the budget is "
        f"{duration(campaign.budget / share)}; the {FEWEST_PAIRS} blocks that a verdict takes need about "
        f"--budget {as_option(whole)}, or fewer arms or experiments"
    )


def endless(campaign: Campaign, cell: Cell, patience: float) -> str:
    larger = "--time-limit" if campaign.time_limit else "--budget or a --time-limit"
    return (
        f"{cell.workload.title}: did not end within {duration(patience)}. If it ends by itself, give a "
        f"larger {larger}; of a server, say how it is driven: --ready, --load and --take"
    )


def outcome_of_pilot(campaign: Campaign, cell: Cell, limit: float, share: float) -> str:
    """The findings of the pilot runs, and their consequences for the runs."""
    pilot = campaign.pilot
    assert pilot
    if pilot.executions > 1:
        unseen = "" if pilot.memory else f"; its memory cannot be seen in {FEWEST_SAMPLES} samples"
        return (
            f"one execution takes {duration(pilot.wall_time)}, less than {duration(SHORT_PROGRAM_S)}: a run "
            f"is {pilot.executions} of them in a row, and times are their means{unseen}"
        )
    may = f"one run takes {duration(pilot.wall_time)} and may take {duration(limit)}"
    if campaign.time_limit or campaign.budget is None:
        return may
    fit = f"two blocks of {len(cell.allocators)} runs in {budget_in_words(campaign.budget, share)}"
    return f"{may} ({fit}; --time-limit changes that)"


def budget_in_words(budget: float, share: float) -> str:
    """The budget of a campaign as a share of the user's."""
    part = f"{share:.0%} of " if share < ALL else ""
    return f"{part}the budget of {duration(budget / share)}"


def as_option(seconds: float) -> str:
    """A duration rounded up to one that a user would type."""
    if seconds > 5400:
        return f"{ceil(seconds / 3600)}h"
    return f"{ceil(seconds)}s" if seconds <= 90 else f"{ceil(seconds / 60)}m"
