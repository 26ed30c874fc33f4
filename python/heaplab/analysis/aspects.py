"""The answer by aspect: what each allocator is good or bad at, each aspect with the mean over its own cells.

An aspect's mean says something because its cells ask one question. Its verdicts and those of all other
aspects are one family of comparisons: the table of aspects is read as a whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from math import nan

from heaplab import stats
from heaplab.analysis.metrics import MEMORY
from heaplab.analysis.study import MeasuredCell, Study
from heaplab.analysis.whole_analysis import Analysis
from heaplab.results import spec
from heaplab.results.records import CONTROL_SUFFIX
from heaplab.stats import Interval, Judged, Keyed, Verdict


@dataclass(frozen=True)
class AspectSummary:
    """One aspect: the ratio of every allocator to the baseline; lower is better."""

    about: spec.Aspect
    judged: dict[str, Judged]
    control: Interval  # the baseline against itself: noise alone
    cells: int  # number of cells in the means
    largest_weight: float  # share of the mean that comes from one cell, at most: 0.5 is half of it

    def shown(self, verdict: Verdict) -> list[str]:
        """The allocators with this verdict, the lowest ratio first."""
        names = [name for name, judged in self.judged.items() if judged.verdict is verdict]
        return sorted(names, key=lambda name: self.judged[name].ratio.estimate)


def aspect_summaries(analysis: Analysis) -> list[AspectSummary]:
    """The aspects of a campaign in the order of its experiments; empty if it is about fewer than two.

    With fewer, the means over all cells say the same.
    """
    by_aspect = studies_by_aspect(analysis)
    others = [name for name in analysis.allocators if name != analysis.baseline]
    if len(by_aspect) < 2 or not others:
        return []
    controls = [_mean(studies, analysis.baseline + CONTROL_SUFFIX) for studies in by_aspect.values()]
    ratios = [[_mean(studies, name) for name in others] for studies in by_aspect.values()]
    own = [control for control in controls for _ in others]
    judged = iter(stats.judge_family(list(chain.from_iterable(ratios)), own))
    return [
        AspectSummary(
            about,
            {name: next(judged) for name in others},
            control,
            sum(len(cells_of(study)) for study in by_aspect[about]),
            max(1 / len(by_aspect[about]) / len(cells_of(study)) for study in by_aspect[about]),
        )
        for about, control in zip(by_aspect, controls, strict=True)
    ]


def studies_by_aspect(analysis: Analysis) -> dict[spec.Aspect, list[Study]]:
    """The studies in which every allocator ran and that have the metric of their aspect."""
    studies: dict[spec.Aspect, list[Study]] = {}
    for study in chain.from_iterable(map(analysis.summarised, ("synthetic", "program"))):
        about = study.experiment.aspect
        if isinstance(about, spec.Aspect) and metric_of(study, about.measure) and cells_of(study):
            studies.setdefault(about, []).append(study)
    return studies


def metric_of(study: Study, measure: str) -> str:
    """The metric of a study that stands for "time" or for "memory"; "" if the study has none.

    Time is the main metric. Memory is the main metric or, where this is a time, the peak with page tables.
    """
    if measure == "time":
        return study.main_metric if study.is_timed else ""
    return MEMORY if study.is_timed else study.main_metric


def mixes_aspects(analysis: Analysis, kind: str) -> bool:
    """Whether a mean over all cells of a kind of workload would mix answers to different questions."""
    return len({study.experiment.aspect for study in analysis.summarised(kind)}) > 1


def cells_of(study: Study) -> list[MeasuredCell]:
    """The cells that count in an aspect: those with a figure of the baseline."""
    about = study.experiment.aspect
    metric = metric_of(study, about.measure) if isinstance(about, spec.Aspect) else ""
    return [cell for cell in study.cells if metric and study.values(cell, study.baseline, metric)]


def _mean(studies: Iterable[Study], name: str) -> Interval:
    """The geometric mean over all cells, every experiment weighing the same.

    Not a number where a cell has no figure: failing in a hard cell must not be an advantage.
    """
    groups: list[list[Keyed]] = []
    for study in studies:
        about = study.experiment.aspect
        assert isinstance(about, spec.Aspect)
        pairs = study.cell_pairs(study.baseline, name, metric_of(study, about.measure))
        if len(pairs) < len(cells_of(study)):
            return Interval(nan)
        groups.append(pairs)
    return stats.geometric_mean(groups)
