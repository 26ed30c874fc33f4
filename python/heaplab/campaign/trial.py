"""How long a campaign of one experiment will take: its runs are counted, and two of them are tried.

The first and the last cell, mostly the smallest and the largest, run once under the baseline. A run takes the
mean of both, and `BETWEEN_S`. A trial that does not end within the patience counts as that long: the forecast
is then a lower bound. Cells that need more memory than a run may use fail at once, and are not tried.

Whether a campaign fits a time is asked more closely, since arms may take forty times as long as the baseline:
one block of the first and of the last comparison runs under all arms, and ends once it shows that the whole
takes longer.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from operator import add

from heaplab.campaign import memory_needs, plan
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Candidate
from heaplab.results.records import BETWEEN_S, Arm, Campaign, Run, Status

PATIENCE_S = 20.0  # for a trial
SHORTEST_S = 0.2  # smallest time limit of a run of a trial, however little time is left


@dataclass(frozen=True)
class Forecast:
    """Of one campaign or several together: runs and seconds, with the fewest and with the most blocks."""

    runs: int = 0
    runs_most: int = 0
    seconds: float = 0.0
    seconds_most: float = 0.0
    longer: int = 0  # campaigns with a run that did not end within the patience: at least so many seconds
    unknown: int = 0  # campaigns whose trials gave no time

    def __add__(self, other: "Forecast") -> "Forecast":
        return Forecast(*map(add, astuple(self), astuple(other)))


def between_runs(campaign: Campaign) -> Forecast:
    """The forecast without a trial, a lower bound: the time between the runs alone."""
    comparisons = plan.comparisons(campaign)
    runs = sum(comparison.blocks * len(comparison.candidates) for comparison in comparisons)
    most = sum(comparison.blocks_most * len(comparison.candidates) for comparison in comparisons)
    return Forecast(runs, most, runs * BETWEEN_S, most * BETWEEN_S, longer=1)


def forecast_within(
    campaign: Campaign, libraries: dict[str, Arm], needed: dict[str, int], room: float
) -> Forecast:
    """How long the campaign takes, or that it takes longer than `room` seconds. Raises what a run raises."""
    fitting = fitting_memory(campaign, needed)
    counted = between_runs(campaign)
    if not fitting:
        return Forecast(counted.runs, counted.runs_most, unknown=1)
    blocks = sum(part.blocks for part in fitting)
    among = tried(fitting)
    most = len(among) * room / blocks  # s that the tried blocks may take together
    began, ended_well = time.monotonic(), 0
    with RunMeasurer(campaign, libraries, needed) as measure:
        for comparison in among:
            block = plan.block(campaign, comparison, 0)
            for candidate in block.order:
                left = most - (time.monotonic() - began)
                measure.until = time.monotonic() + max(SHORTEST_S, left)
                run = measure(block, candidate, 0, attempt=1)
                ended_well += run.status is Status.OK
                if left <= 0 or (run.status is Status.TIMEOUT and time.monotonic() >= measure.until):
                    return whole(counted, blocks * (time.monotonic() - began) / len(among), longer=1)
    spent = time.monotonic() - began
    return whole(counted, blocks * spent / len(among), unknown=0 if ended_well else 1)


def fitting_memory(campaign: Campaign, needed: dict[str, int]) -> list[plan.Comparison]:
    """The comparisons whose cells need no more memory than a run may use."""
    most = campaign.memory_limit or memory_needs.of_this_machine()
    return [
        comparison
        for comparison in plan.comparisons(campaign)
        if all(needed.get(cell.key, 0) <= most for cell in comparison.cells)
    ]


def tried(comparisons: Sequence[plan.Comparison]) -> list[plan.Comparison]:
    """The comparisons that trials are made of: the first and the last."""
    return [*comparisons[:1], *comparisons[1:][-1:]]


def whole(counted: Forecast, seconds: float, longer: int = 0, unknown: int = 0) -> Forecast:
    """The forecast of the counted runs; those of the fewest blocks take `seconds`."""
    most = seconds * counted.runs_most / counted.runs
    return Forecast(counted.runs, counted.runs_most, seconds, most, longer, unknown)


def forecast(
    campaign: Campaign, libraries: dict[str, Arm], needed: dict[str, int], patience: float
) -> Forecast:
    """The forecast by the trials. Raises the error of a run that cannot be prepared."""
    counted = between_runs(campaign)
    runs, most = counted.runs, counted.runs_most
    durations = list(trials(campaign.model_copy(update={"time_limit": patience}), libraries, needed))
    known = [run.process.wall_time for run in durations if run.process and run.status is Status.OK]
    longer = any(run.status is Status.TIMEOUT for run in durations)
    known += [patience for run in durations if run.status is Status.TIMEOUT]
    if not known:
        return Forecast(runs, most, unknown=1)
    each = sum(known) / len(known) + BETWEEN_S
    return Forecast(runs, most, runs * each, most * each, longer=int(longer))


def trials(campaign: Campaign, libraries: dict[str, Arm], needed: dict[str, int]) -> Iterable[Run]:
    among = tried(fitting_memory(campaign, needed))
    cells = [cell for comparison in among for cell in comparison.cells]
    with RunMeasurer(campaign, libraries, needed) as measure:
        for cell in [*cells[:1], *cells[1:][-1:]]:
            block = plan.block(campaign, among[0], 0)
            yield measure(block, Candidate(cell, campaign.allocators[0]), 0, attempt=1)
