"""What a campaign decided, what more of it would decide, and what makes its intervals wide."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from statistics import fmean, median

from heaplab import stats
from heaplab.analysis.aspects import aspect_summaries
from heaplab.analysis.study import MeasuredCell, Study
from heaplab.analysis.whole_analysis import Analysis
from heaplab.results.records import BETWEEN_S, Run
from heaplab.stats import Judged, Noise, Verdict


@dataclass(frozen=True)
class Outlook:
    """One family of comparisons, or the part of it about one aspect."""

    name: str
    judged: list[Judged]
    blocks: int  # the present number, of the cell with the fewest
    more: list[float]  # further blocks that each undecided comparison needs; infinity: too many

    @property
    def decided(self) -> int:
        return sum(comparison.verdict is not Verdict.UNDECIDED for comparison in self.judged)

    @property
    def half_width(self) -> float:
        """The median half-width of the intervals; not a number without any."""
        return median(
            [comparison.ratio.half_width for comparison in self.judged if comparison.ratio.bounded] or [nan]
        )

    def for_share(self, share: float) -> float:
        """The number of further blocks after which this share of the undecided comparisons is decided."""
        order = sorted(self.more)
        return order[max(0, round(share * len(order)) - 1)] if order else 0.0


@dataclass(frozen=True)
class Power:
    outlooks: list[Outlook]
    round_s: float  # s that one more block of every cell takes
    noise: Noise | None  # mean over the cells, each by its number of runs
    run_s: float  # median s of a run
    foreign: float  # share of the CPU time that other processes used, mean over the runs

    def seconds_until(self, each: Outlook, share: float) -> float:
        """Until this share of the undecided is decided; infinity: never; not a number: not known."""
        blocks = each.for_share(share)
        if blocks == inf and not (each.blocks and isfinite(each.half_width)):
            return nan
        return blocks * self.round_s

    @property
    def seconds_left(self) -> float:
        """Until all is decided, as far as is known; not a number if nothing is known, or all is decided."""
        times = [self.seconds_until(each, 1.0) for each in self.outlooks if each.more]
        return max((time for time in times if not isnan(time)), default=nan)


def power_of(analysis: Analysis) -> Power:
    studies = [study for study in analysis.between_allocators if study.candidates]
    runs = [run for study in studies for runs in study.good.values() for run in runs.values()]
    walls = [run.process.wall_time for run in runs if run.process]
    return Power(
        outlooks_by_aspect(analysis) or [outlook_of(study) for study in studies],
        seconds_of_round(studies),
        mean_noise(noises(studies)),
        median(walls or [nan]),
        fmean([foreign_share(run) for run in runs] or [nan]),
    )


def outlooks_by_aspect(analysis: Analysis) -> list[Outlook]:
    summaries = aspect_summaries(analysis)
    family = sum(len(summary.judged) for summary in summaries)
    return [
        outlook(
            summary.about.id,
            list(summary.judged.values()),
            max(1, summary.control.count // summary.cells),
            family,
        )
        for summary in summaries
    ]


def outlook_of(study: Study) -> Outlook:
    judged = list(study.judged(study.main_metric).values())
    blocks = min((comparison.ratio.count for comparison in judged), default=0)
    return outlook(study.name, judged, blocks, len(judged))


def outlook(name: str, judged: list[Judged], blocks: int, family: int) -> Outlook:
    still_open = [comparison for comparison in judged if comparison.verdict is Verdict.UNDECIDED]
    return Outlook(
        name, judged, blocks, [stats.more_blocks(comparison, family, blocks) for comparison in still_open]
    )


def noise_of(studies: Iterable[Study]) -> Noise | None:
    """The noise of all cells; None before there are enough blocks."""
    return mean_noise(noises(studies))


def paces_of(studies: Iterable[Study]) -> dict[str, float]:
    """Seconds that one more block of every cell takes, by candidate; the baseline is the first."""
    paces: dict[str, float] = {}
    for study in studies:
        for name in (*study.candidates, study.control):
            runs = [run for (_, other), good in study.good.items() if other == name for run in good.values()]
            if runs:
                cells = sum(other == name for _, other in study.good)
                paces[name] = paces.get(name, 0.0) + cells * fmean(map(seconds, runs))
    return paces


def seconds_of_round(studies: Iterable[Study]) -> float:
    """Seconds that one more block of every cell takes."""
    return sum(block_seconds(study, cell) for study in studies for cell in study.cells_run)


def block_seconds(study: Study, cell: MeasuredCell) -> float:
    """Seconds that a block of the cell takes: the mean runs of all candidates, and the time between runs."""
    of_cell = [list(runs.values()) for (place, _), runs in study.good.items() if place == cell]
    return sum(fmean(map(seconds, runs)) for runs in of_cell if runs)


def seconds(run: Run) -> float:
    warming = run.warming.seconds if run.warming else 0.0
    process = run.process
    return BETWEEN_S + warming + (process.wall_time * process.executions if process else 0.0)


def foreign_share(run: Run) -> float:
    """CPU time of other processes over the duration of the run: 1 is one CPU all the time."""
    lasted = run.process.wall_time * run.process.executions if run.process else 0.0
    return run.foreign_cpu / lasted if lasted else 0.0


def noises(studies: Iterable[Study]) -> Iterator[tuple[Noise, int]]:
    """The noise of every cell with its number of runs, over blocks in which every candidate has a value."""
    for study in studies:
        for cell in study.cells_run:
            names = [name for name in (*study.candidates, study.control) if (cell, name) in study.good]
            values = [study.values(cell, name, study.main_metric) for name in names]
            blocks = sorted(set.intersection(*map(set, values))) if values else []
            rows = [[own[block] for own in values] for block in blocks]
            loads = [[foreign_share(study.good[cell, name][block]) for name in names] for block in blocks]
            if all(value > 0 for row in rows for value in row) and (noise := stats.noise(rows, loads)):
                yield noise, len(rows) * len(names)


def mean_noise(weighted: Iterable[tuple[Noise, int]]) -> Noise | None:
    known = list(weighted)
    if not known:
        return None
    runs = sum(count for _, count in known)
    names = ("runs", "foreign", "blocks", "drift", "deviation")
    return Noise(
        *(sum(getattr(comparison, name) * count for comparison, count in known) / runs for name in names)
    )
