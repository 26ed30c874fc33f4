"""Why allocators differ in time: page faults, system time and instructions, beside the verdicts.

Counts of the whole process represent what an allocator requests from the kernel. Instructions, if the
processor lets a workload count them, represent the work of the allocator itself. A sentence names a cause
only if the whole interval of its ratio lies on the same side as the difference in time.
"""

from dataclasses import dataclass
from math import isfinite, nan

from heaplab import stats
from heaplab.analysis import FAULTS, INSTRUCTIONS, SYSTEM, TIME_ONLY, Analysis, Judged, Study, Summary
from heaplab.report.words import wording
from heaplab.results.records import CONTROL_SUFFIX
from heaplab.stats import Interval, Verdict, judge
from heaplab.text import units

TITLES = {FAULTS: "page faults", SYSTEM: "system time", INSTRUCTIONS: "instructions"}


@dataclass(frozen=True)
class Cause:
    """One cause of differences in time, such as page faults: every allocator relative to the baseline."""

    metric: str
    judged: dict[str, Judged]

    @property
    def title(self) -> str:
        return TITLES[self.metric]


def causes(analysis: Analysis, kind: str) -> list[Cause]:
    """The causes with values; the verdicts on one cause are one family of comparisons."""
    others = [name for name in analysis.allocators if name != analysis.baseline]
    known = []
    for metric in TITLES:
        ratios = [_mean(analysis, kind, name, metric) for name in others]
        control = _mean(analysis, kind, analysis.baseline + CONTROL_SUFFIX, metric)
        family = zip(others, stats.judge_family(ratios, control), strict=True)
        judged = {name: judgement for name, judgement in family if judgement.ratio.count}
        if judged:
            known.append(Cause(metric, judged))
    return known


def _studies(analysis: Analysis, kind: str) -> list[Study]:
    """The timed studies, because causes explain times; all studies if none is timed."""
    studies = analysis.summarised(kind)
    return [study for study in studies if study.is_timed] or studies


def _mean(analysis: Analysis, kind: str, allocator: str, metric: str) -> Interval:
    """The mean over cells in which every run has a count: the kernel's clock may miss a whole short run."""
    groups = [
        [(pair, key) for pair, key in study.cell_pairs(analysis.baseline, allocator, metric) if _seen(pair)]
        for study in _studies(analysis, kind)
    ]
    return stats.geometric_mean([group for group in groups if group])


def _seen(pair: stats.Pair) -> bool:
    return all(value > 0 for values in pair for value in values)


def sentences(analysis: Analysis, kind: str, summaries: list[Summary]) -> list[str]:
    """The causes beside the times of the slowest and the fastest allocator; empty without a difference."""
    ranked = sorted((s for s in summaries if s.complete), key=lambda s: s.time.ratio.estimate)
    if not ranked:
        return []
    known = causes(analysis, kind)
    ends = [(ranked[-1], Verdict.HIGHER, "slowest"), (ranked[0], Verdict.LOWER, "fastest")]
    return [
        _sentence(analysis, kind, end, direction, _rank(analysis, kind, end, ranked, direction, word), known)
        for end, direction, word in ends
        if end.time.verdict is direction and known
    ]


def _rank(
    analysis: Analysis, kind: str, end: Summary, ranked: list[Summary], direction: Verdict, word: str
) -> str:
    """ "slowest" if all others are shown to be faster, else "among the slowest"."""
    control = analysis.control(kind, TIME_ONLY)
    others = [other.allocator for other in ranked if other is not end]
    apart = all(
        judge(analysis.relative(kind, end.allocator, TIME_ONLY, other), control) is direction
        for other in others
    )
    return word if apart else f"among the {word}"


def _sentence(
    analysis: Analysis, kind: str, end: Summary, direction: Verdict, rank: str, known: list[Cause]
) -> str:
    judgements = [(cause, judged) for cause in known if (judged := cause.judged.get(end.allocator))]
    counting = [(cause, judged) for cause, judged in judgements if judged.verdict is direction]
    if not counting:
        titles = wording.listed([cause.title for cause, _ in judgements])
        return f"{end.allocator} is {rank} here, and its {titles} do not show why."
    (first, judged), *rest = counting
    parts = [f"{_times(judged)} {analysis.baseline}'s {first.title}"]
    parts += [f"{_times(judged)} its {cause.title}" for cause, judged in rest]
    said = f"{end.allocator} is {rank} here: {wording.listed(parts)}."
    whose = end.allocator if direction is Verdict.HIGHER else analysis.baseline
    share = _system_share(analysis, kind, whose)
    if isfinite(share) and any(cause.metric in (FAULTS, SYSTEM) for cause, _ in counting):
        said += f" Of {whose}'s CPU time {units.percent(share)} is system time."
    return said


def _times(judged: Judged) -> str:
    ratio = judged.ratio.estimate
    return f"{ratio:.2f} times" if ratio < 2 else f"{ratio:.1f} times"


def _system_share(analysis: Analysis, kind: str, allocator: str) -> float:
    """The share of system time in the CPU time of all runs of an allocator."""
    processes = [
        run.process
        for study in _studies(analysis, kind)
        for (_, name), runs in study.good.items()
        for run in runs.values()
        if name == allocator and run.process
    ]
    total = sum(process.system_time + process.user_time for process in processes)
    return sum(process.system_time for process in processes) / total if total else nan
