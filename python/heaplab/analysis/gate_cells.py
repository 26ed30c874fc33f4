"""Every cell of a comparison of two arms, with the verdict on every metric that a gate examines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan

from heaplab import stats
from heaplab.analysis.metrics import END, FAULTS, INSTRUCTIONS, MEAN, MEMORY
from heaplab.analysis.study import MeasuredCell, Study
from heaplab.analysis.whole_analysis import Analysis
from heaplab.results import server_spec, spec
from heaplab.stats import GateVerdict, Interval

UNDER_CALLGRIND = spec.MetricSpec(title="instructions under callgrind", unit="1")
# By experiment, cell and measure: the values that an earlier campaign had, by block.
Kept = Mapping[tuple[str, MeasuredCell, str], Mapping[int, float]]
TIME = "time"  # a measure: of an experiment its main metric, whichever clock that is


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
    measure: str  # what the metric measures: TIME, or which memory
    metric: str
    about: spec.MetricSpec
    ratio: Interval
    limit: float  # the user's: 0.05 allows 5 % more
    control: Interval  # the baseline against itself
    median: Interval  # of NEW
    verdict: GateVerdict = GateVerdict.COULD_NOT_TELL
    told_by_count: bool = False  # the time could not tell, but instructions under callgrind could

    @property
    def is_silent(self) -> bool:
        """Whether the machine could not tell, and no count of instructions took the place of the time."""
        return self.verdict is GateVerdict.COULD_NOT_TELL and not self.told_by_count

    @property
    def is_time(self) -> bool:
        return self.measure == TIME

    @property
    def noise_floor(self) -> float:
        return stats.noise_floor(self.control)

    @property
    def why(self) -> str:
        """Why the machine could not tell; "" if it could."""
        if self.verdict is not GateVerdict.COULD_NOT_TELL:
            return ""
        if self.told_by_count:
            return "instructions tell"
        if isnan(self.ratio.estimate):
            return "no figure"
        if not (self.ratio.bounded and isfinite(self.noise_floor)):
            return "few blocks"
        if self.noise_floor > self.limit:
            return f"noise of {100 * self.noise_floor:.1f} %"
        return "wide" if self.ratio.low <= 1 + self.limit else "many compared"


def gate_cells(analyses: Sequence[Analysis], limits: GateLimits, kept: Kept | None = None) -> list[GateCell]:
    """Every cell with its verdict. The verdicts on all cells and metrics of all campaigns are one family.

    If two campaigns measured the same metric of a cell, the later campaign counts. With `kept`, these are the
    values of OLD, and what has none is left out.
    """
    every = (
        comparison
        for comparison in all_cells(analyses, limits, kept)
        if comparison.verdict is not GateVerdict.NOT_JUDGED
    )
    cells = list(
        {
            (comparison.experiment, comparison.cell, comparison.metric): comparison for comparison in every
        }.values()
    )
    ratios, controls = (
        [comparison.ratio for comparison in cells],
        [comparison.control for comparison in cells],
    )
    verdicts = stats.judge_gate(ratios, controls, [comparison.limit for comparison in cells])
    judged = [
        replace(comparison, verdict=verdict) for comparison, verdict in zip(cells, verdicts, strict=True)
    ]
    counted = {
        (comparison.experiment, comparison.cell)
        for comparison in judged
        if comparison.about is UNDER_CALLGRIND and comparison.verdict is not GateVerdict.COULD_NOT_TELL
    }
    return [
        replace(
            comparison,
            told_by_count=comparison.is_time
            and comparison.is_silent
            and (comparison.experiment, comparison.cell) in counted,
        )
        for comparison in judged
    ]


def blocks_for_limits(cells: Sequence[GateCell]) -> float:
    """The further blocks that the cell needs that needs the most; infinity without intervals."""
    silent = [each for each in cells if each.is_silent and each.metric != INSTRUCTIONS]
    more = [
        (stats.times_the_blocks_of_gate(comparison.ratio, comparison.control, comparison.limit) - 1)
        * comparison.ratio.count
        for comparison in silent
    ]
    return max(more, default=0.0)


def beside(analyses: Sequence[Analysis], kept: Kept | None = None) -> list[GateCell]:
    """What has no limit, and tells why memory changed."""
    every = all_cells(analyses, GateLimits(inf, inf, inf), kept)
    return [comparison for comparison in every if comparison.metric == FAULTS]


def all_cells(analyses: Sequence[Analysis], limits: GateLimits, kept: Kept | None) -> Iterator[GateCell]:
    for study, cell, measure, metric, limit, counts in looked_at(analyses, limits):
        old = None if kept is None else kept.get((study.experiment.id, cell, measure))
        if old or kept is None:
            yield cell_of(study, cell, measure, metric, limit, counts, old)


def values_to_keep(analyses: Sequence[Analysis]) -> Kept:
    """The values of the baseline that mean something in another run: all but times."""
    return {
        (study.experiment.id, cell, measure): study.values(cell, study.baseline, metric)
        for study, cell, measure, metric, *_ in looked_at(analyses, GateLimits(inf, inf, inf))
        if measure != TIME
    }


def looked_at(
    analyses: Sequence[Analysis], limits: GateLimits
) -> Iterator[tuple[Study, MeasuredCell, str, str, float, bool]]:
    """Every measure that has values in a cell, with its metric and limit, and whether that is a count.

    Of a campaign under callgrind these are the counts of instructions alone.
    """
    for analysis in analyses:
        counts = bool(analysis.campaign.instructions)
        for study in analysis.between_allocators:
            for cell in study.cells_that_count:
                for measure, (metric, limit) in judged_of(study, limits, counts=counts).items():
                    if study.shows(cell, metric):
                        yield study, cell, measure, metric, limit, counts


def judged_of(study: Study, limits: GateLimits, *, counts: bool) -> dict[str, tuple[str, float]]:
    """The metric and the limit of every measure. Memory is judged whole: its peak, its mean and its end.

    Page faults have no limit.
    """
    counted = {INSTRUCTIONS: (INSTRUCTIONS, limits.instructions)}
    if counts:
        return counted
    server = study.workload.server
    end = server_spec.idle_memory(server.idle_s[-1]) if server else END
    memories = {"memory": MEMORY, "mean-memory": MEAN, "end-memory": end}
    timed = {TIME: (study.main_metric, limits.slower)} if study.is_timed else {}
    judged = timed | {name: (metric, limits.memory) for name, metric in memories.items()}
    return judged | counted | {"faults": (FAULTS, inf)}


def cell_of(
    study: Study,
    cell: MeasuredCell,
    measure: str,
    metric: str,
    limit: float,
    counts: bool,
    old: Mapping[int, float] | None,
) -> GateCell:
    """`old` are values of an earlier campaign, which take the place of the baseline's."""
    rule = stats.spread if counts else stats.compare
    new = study.candidates[-1]
    about = UNDER_CALLGRIND if counts else study.metric(metric)
    values = study.values(cell, new, metric)
    before = study.values(cell, study.baseline, metric) if old is None else old
    blocks = sorted(values.keys() & before.keys())
    ratio = rule([before[block] for block in blocks], [values[block] for block in blocks])
    control = rule(*study.pair(cell, study.baseline, study.control, metric))
    rate = about.better == "higher"
    return GateCell(
        study.experiment.id,
        cell,
        measure,
        metric,
        about,
        ratio.inverse() if rate else ratio,
        limit,
        control.inverse() if rate else control,
        study.median(cell, new, metric),
        GateVerdict.NOT_JUDGED if limit == inf else GateVerdict.COULD_NOT_TELL,
    )
