"""Every cell of a comparison of two arms, with the verdict on every metric that a gate examines."""

from dataclasses import dataclass
from math import isnan

from heaplab import stats
from heaplab.analysis.metrics import INSTRUCTIONS, MEMORY
from heaplab.analysis.standing import Analysis
from heaplab.analysis.study import MeasuredCell, Study
from heaplab.catalog import spec
from heaplab.stats import GateVerdict, Interval


@dataclass(frozen=True)
class GateLimits:
    """By how much NEW may exceed OLD: 0.05 is 5 %."""

    slower: float
    memory: float
    instructions: float


@dataclass(frozen=True)
class GateCell:
    """One metric in one cell. The ratio is NEW to OLD, or OLD to NEW for a rate: above 1 is worse."""

    experiment: str
    cell: MeasuredCell
    metric: str
    about: spec.MetricSpec
    ratio: Interval
    limit: float  # the user's limit, or the noise floor if that is larger
    control: Interval  # the baseline against itself
    median: Interval  # of NEW
    verdict: GateVerdict = GateVerdict.UNDECIDED

    @property
    def why(self) -> str:
        """Why the cell has no verdict; "" if it has one."""
        if self.verdict is not GateVerdict.UNDECIDED:
            return ""
        if isnan(self.ratio.estimate):
            return "no figure"
        if not self.ratio.bounded:
            return "few blocks"
        return "wide" if self.ratio.low <= 1 + self.limit else "many compared"


def gate_cells(analysis: Analysis, limits: GateLimits) -> list[GateCell]:
    """The verdicts are one family, over all cells and metrics."""
    found = [
        cell_of(study, cell, metric, limit)
        for study in analysis.between_allocators
        for cell in study.cells_that_count
        for metric, limit in metrics_of(study, limits).items()
        if study.shows(cell, metric)
    ]
    verdicts = stats.judge_gate([one.ratio for one in found], [one.limit for one in found])
    return [
        GateCell(**{**vars(one), "verdict": verdict}) for one, verdict in zip(found, verdicts, strict=True)
    ]


def metrics_of(study: Study, limits: GateLimits) -> dict[str, float]:
    timed = {study.main_metric: limits.slower} if study.is_timed else {}
    return {**timed, MEMORY: limits.memory, INSTRUCTIONS: limits.instructions}


def cell_of(study: Study, cell: MeasuredCell, metric: str, limit: float) -> GateCell:
    new = study.candidates[-1]
    rate = study.metric(metric).better == "higher"
    ratio, control = (study.ratio(cell, name, metric) for name in (new, study.control))
    noise = stats.noise_floor(study.controls(metric))
    return GateCell(
        study.experiment.id,
        cell,
        metric,
        study.metric(metric),
        ratio.inverse() if rate else ratio,
        limit if isnan(noise) else max(limit, noise),
        control.inverse() if rate else control,
        study.median(cell, new, metric),
    )
