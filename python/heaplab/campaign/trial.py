"""How long a campaign of one experiment will take: its runs are counted, and two of them are tried.

The first and the last cell, mostly the smallest and the largest, run once under the baseline. A run takes the
mean of both, and `BETWEEN_S`. A trial that does not end within the patience counts with it: the forecast is
then a lower bound. Whoever only asks whether the campaign fits a time needs no more patience than for runs
that would fill it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from heaplab.campaign import plan
from heaplab.campaign.fit_lengths import BETWEEN_S
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Candidate
from heaplab.records import Arm, Campaign, Run, Status

PATIENCE_S = 20.0  # for a trial
SHORTEST_S = 0.2  # that a trial may take, however little time there is


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
        return Forecast(
            self.runs + other.runs,
            self.runs_most + other.runs_most,
            self.seconds + other.seconds,
            self.seconds_most + other.seconds_most,
            self.longer + other.longer,
            self.unknown + other.unknown,
        )


def between_runs(campaign: Campaign) -> Forecast:
    """What passes between the runs alone: a lower bound without a trial."""
    comparisons = plan.comparisons(campaign)
    runs = sum(one.blocks * len(one.candidates) for one in comparisons)
    most = sum(one.blocks_most * len(one.candidates) for one in comparisons)
    return Forecast(runs, most, runs * BETWEEN_S, most * BETWEEN_S, longer=1)


def patience(runs: int, room: float | None) -> float:
    """Seconds that a trial may take which is to show whether so many runs fit in `room` seconds.

    One of the two trials may take twice the mean of both.
    """
    return PATIENCE_S if room is None else min(PATIENCE_S, max(SHORTEST_S, 2 * room / runs))


def forecast(
    campaign: Campaign,
    libraries: dict[str, Arm],
    needed: dict[str, int],
    patience: float,
    tick: Callable[[], None] = lambda: None,
) -> Forecast:
    """Raises what a run raises that cannot be prepared."""
    counted = between_runs(campaign)
    runs, most = counted.runs, counted.runs_most
    tried = list(trials(campaign.model_copy(update={"time_limit": patience}), libraries, needed, tick))
    known = [run.process.wall_time for run in tried if run.process and run.status is Status.OK]
    longer = any(run.status is Status.TIMEOUT for run in tried)
    known += [patience for run in tried if run.status is Status.TIMEOUT]
    if not known:
        return Forecast(runs, most, unknown=1)
    each = sum(known) / len(known) + BETWEEN_S
    return Forecast(runs, most, runs * each, most * each, longer=int(longer))


def trials(
    campaign: Campaign, libraries: dict[str, Arm], needed: dict[str, int], tick: Callable[[], None]
) -> Iterable[Run]:
    comparisons = plan.comparisons(campaign)
    cells = [cell for comparison in comparisons for cell in comparison.cells]
    block = plan.block(campaign, comparisons[0], 0)
    with RunMeasurer(campaign, libraries, needed, tick=tick) as measure:
        for cell in [*cells[:1], *cells[1:][-1:]]:
            yield measure(block, Candidate(cell, campaign.allocators[0]), 0, attempt=1)
