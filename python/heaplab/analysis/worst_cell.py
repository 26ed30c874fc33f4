"""The worst cell of each allocator: how far the allocator falls behind the best one in that cell."""

from dataclasses import dataclass
from math import isfinite

from heaplab.analysis.study import MeasuredCell, Study
from heaplab.analysis.whole_analysis import Analysis


@dataclass(frozen=True)
class WorstCell:
    """The largest ratio of an allocator's median time to the best median in the same cell."""

    ratio: float  # at least 1; a rate is inverted
    experiment: str
    cell: MeasuredCell
    best: str  # the best allocator in that cell


def worst_cells(analysis: Analysis, kind: str) -> dict[str, WorstCell]:
    """The worst cell by allocator, over the timed studies of a kind of workload in which every allocator ran.

    An allocator without any value is left out.
    """
    worst: dict[str, WorstCell] = {}
    for study in (study for study in analysis.summarised(kind) if study.is_timed):
        for cell in study.cells:
            costs = _costs(study, cell)
            if not costs:
                continue
            best = min(costs, key=costs.__getitem__)
            for name, cost in costs.items():
                here = WorstCell(cost / costs[best], study.experiment.id, cell, best)
                if name not in worst or here.ratio > worst[name].ratio:
                    worst[name] = here
    return worst


def _costs(study: Study, cell: MeasuredCell) -> dict[str, float]:
    """Medians of the main metric, lower is better; values that are not positive have no ratio."""
    rate = study.metric(study.main_metric).better == "higher"
    medians = {name: study.median(cell, name, study.main_metric).estimate for name in study.candidates}
    known = {name: value for name, value in medians.items() if isfinite(value) and value > 0}
    return {name: 1 / value if rate else value for name, value in known.items()}
