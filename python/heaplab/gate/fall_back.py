"""`--auto`: instructions are counted in place of times that cannot decide within the budget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import fmean

from heaplab import analysis
from heaplab.campaign import begin_or_resume as campaigns, plan
from heaplab.campaign.begin_or_resume import Request
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError
from heaplab.gate.auto_budget import in_words
from heaplab.gate.count_instructions import BLOCKS, counted
from heaplab.machine import callgrind
from heaplab.options.given_options import GateOptions
from heaplab.results.records import Run
from heaplab.screen.notes import note

SLOWER, START_S = 50, 1.0  # callgrind takes so many times the user time of a run, and so many s to start
SPARE, LEAST_S = 3.0, 30.0  # without a budget, counting may take so many times its estimate, and so many s


@dataclass(frozen=True)
class Offer:
    """The experiments whose times are silent and whose instructions can be counted, and what that takes."""

    request: Request
    seconds: float

    @property
    def names(self) -> list[str]:
        return [experiment.id for experiment in self.request.experiments]

    @property
    def says(self) -> str:
        return (
            f"instructions under callgrind may tell {', '.join(self.names)}: about {in_words(self.seconds)}"
        )

    @property
    def least(self) -> float:
        """Seconds for the blocks that a comparison takes."""
        return self.seconds * plan.ROUNDS_AT_LEAST / BLOCKS

    def replaces(self, cell: analysis.GateCell) -> bool:
        return cell.is_time and cell.experiment in self.names


def offer_of(
    request: Request, measured: analysis.Analysis, cells: Sequence[analysis.GateCell]
) -> Offer | None:
    """The offer to count in place of silent times; None if all times told, or nothing can be counted."""
    silent = {cell.experiment for cell in cells if cell.is_silent and cell.is_time}
    asked = replace(request, experiments=[item for item in request.experiments if item.id in silent])
    counting = campaigns.campaign_of(replace(asked, instructions="callgrind"))
    comparisons = plan.comparisons(counting) if silent else []
    cells_counted = {(cell.experiment.id, cell.swept) for each in comparisons for cell in each.cells}
    names = {name for name, _ in cells_counted}
    if not names:
        return None
    runs = [
        seconds
        for study in measured.between_allocators
        for (cell, _), runs in study.good.items()
        if (study.experiment.id, cell) in cells_counted
        for seconds in seconds_counted(runs.values())
    ]
    offered = replace(asked, experiments=[item for item in asked.experiments if item.id in names])
    return Offer(offered, BLOCKS * sum(runs))


def seconds_counted(runs: Iterable[Run]) -> list[float]:
    """How long an execution of a candidate takes under callgrind, by its runs without; empty without any."""
    processes = [run.process for run in runs if run.process]
    costs = [START_S + process.wall_time + SLOWER * process.user_time for process in processes]
    return [fmean(costs)] if costs else []


@dataclass
class PointlessTimes:
    """The rule that ends measuring: times need more than counting in their place leaves of the budget.

    Measuring goes on while it may still decide what no count replaces, such as memory.
    """

    request: Request
    limits: analysis.GateLimits
    whole: WholeBudget
    _left: float = 0.0  # of the budget, at the last question

    def __call__(self, measured: analysis.Analysis) -> bool:
        """Asked once in each round. On a busy machine a round takes longer than its runs."""
        left = self.whole.left
        round_s = max(self._left - left, analysis.seconds_of_round(measured.between_allocators))
        self._left = left
        cells = analysis.gate_cells([measured], self.limits)
        offer = offer_of(self.request, measured, cells)
        if offer is None or not isfinite(left) or callgrind.why_absent():
            return False
        times = round_s * blocks_for([cell for cell in cells if offer.replaces(cell)])
        others = round_s * blocks_for([cell for cell in cells if not offer.replaces(cell)])
        return offer.least <= left < offer.seconds + times and not 0 < others <= left - offer.seconds


def blocks_for(cells: Sequence[analysis.GateCell]) -> float:
    """The further blocks that the limits of cells need; the next one before there are intervals."""
    blocks = analysis.blocks_for_limits(cells)
    return blocks if isfinite(blocks) else 1.0


def counts_of_silent(
    measured: analysis.Analysis,
    request: Request,
    folder: Path,
    limits: analysis.GateLimits,
    options: GateOptions,
    whole: WholeBudget,
) -> list[Path]:
    """With --auto, count the instructions of experiments whose times could not tell; else offer to do so."""
    offer = offer_of(request, measured, analysis.gate_cells([measured], limits))
    if offer is None:
        return []
    if absent := callgrind.why_absent():
        note(f"{offer.says}; {absent}")
        return []
    if not options.auto:
        note(f"{offer.says}; --auto counts them")
        return []
    if offer.least > whole.left:
        whole_s = (whole.seconds or 0) - whole.left + offer.seconds
        note(f"{offer.says}, and {in_words(whole.left)} are left: --budget {in_words(whole_s)} has room")
        return []
    note(offer.says)
    budget = whole.seconds or max(offer.seconds * SPARE, LEAST_S)
    asked, share = whole.rest(replace(offer.request, budget=budget))
    try:
        return counted(asked, folder, options, share)
    except HeaplabError as error:
        note(f"not counted: {error}")
        return []
