"""How long the cells of a suite are on this machine: pilot runs decide, by a rule fixed beforehand.

1. Every cell is run PILOT_RUNS times under the baseline, with PILOT_SHARE of the length that the catalog
   gives it. The shorter time counts.
2. SHARE of the budget is divided by the number of blocks that it is to have room for. From the time of a
   block, the runs of experiments without a length are subtracted, and BETWEEN_S for every run. The rest is
   divided among the runs that have a length.
3. A run is to take this time, but at least SHORTEST_S and at most LONGEST_S. The factor of an experiment is
   this time over the mean time of its cells.
"""

from collections.abc import Mapping
from statistics import fmean

from heaplab.campaign import plan
from heaplab.campaign.plan import Cell
from heaplab.results import spec
from heaplab.results.records import BETWEEN_S, Campaign

PILOT_RUNS = 2
PILOT_SHARE = 0.25
SHORTEST_S = 0.06  # starting a process and sampling its memory five times takes 0.01 to 0.02 s
LONGEST_S = 0.5
SHARE = 0.95  # the rest is for repetitions of disturbed runs and allocators slower than the baseline


def pilot_campaign(campaign: Campaign) -> Campaign:
    """The campaign whose cells are run as pilots."""
    adjustable = [item.id for item in spec.experiments_of(campaign) if item.length]
    return campaign.model_copy(update={"lengths": dict.fromkeys(adjustable, PILOT_SHARE)})


def lengths(campaign: Campaign, walls: Mapping[str, float]) -> dict[str, float]:
    """The factor of each experiment that has a length; `walls` are s of a pilot run, by key of the cell.

    An experiment without a successful pilot run keeps its length.
    """
    assert campaign.budget
    assert campaign.fit_blocks
    known = [cell for cell in cells(campaign) if cell.key in walls]
    fitted = [cell for cell in known if cell.experiment.length]
    if not fitted:
        return {}
    fixed = sum(walls[cell.key] * len(cell.allocators) for cell in known if not cell.experiment.length)
    runs, runs_fitted = (sum(len(cell.allocators) for cell in among) for among in (known, fitted))
    room = SHARE * campaign.budget / campaign.fit_blocks - fixed - BETWEEN_S * runs
    target = min(LONGEST_S, max(SHORTEST_S, room / runs_fitted))
    by_experiment: dict[str, list[float]] = {}
    for cell in fitted:
        by_experiment.setdefault(cell.experiment.id, []).append(walls[cell.key])
    return {name: PILOT_SHARE * target / fmean(durations) for name, durations in by_experiment.items()}


def cells(campaign: Campaign) -> list[Cell]:
    return [cell for comparison in plan.comparisons(campaign) for cell in comparison.cells]
