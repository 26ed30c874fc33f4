"""The arms of a screening that are worth measuring again: those that may be better than the baseline.

A screening has few blocks, and the best arm of many is partly lucky. Therefore nothing here is a result: the
chosen arms must be measured afresh.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from heaplab.analysis.whole_analysis import Analysis
from heaplab.results.server_spec import idle_memory
from heaplab.stats import Interval


def rankings(analysis: Analysis) -> list[list[str]]:
    """The arms that may lead by time, by memory and by both together, each ranking with the best first."""
    return [may_lead(judged) for judged in measures(analysis)]


def improvements(analysis: Analysis) -> list[list[str]]:
    """The arms worth combining, by the same measures: those that may lead, and those shown to be better.

    An arm far behind the leader may still add to what the leader saves.
    """
    return [may_lead_or_better(judged) for judged in measures(analysis)]


def measures(analysis: Analysis) -> list[Mapping[str, Interval]]:
    """Time, memory and both together of every arm, as ratios to the baseline.

    The results are of one program. Of a server the memory after idling is a measure of its own, because
    people tune servers for it. An arm without a figure in some cell is left out.
    """
    kinds = {study.workload.kind for study in analysis.between_allocators}
    summaries = [summary for kind in kinds for summary in analysis.summaries(kind) if summary.complete]
    ratios: list[Mapping[str, Interval]] = [
        {summary.allocator: getattr(summary, measure).ratio for summary in summaries}
        for measure in ("time", "memory", "cost")
    ]
    idle = after_idling(analysis, [summary.allocator for summary in summaries])
    return [*ratios, idle] if idle else ratios


def after_idling(analysis: Analysis, names: Sequence[str]) -> dict[str, Interval]:
    """The memory of a server after its longest idle time; empty for other programs."""
    return {
        name: study.ratio(cell, name, idle_memory(study.workload.server.idle_s[-1]))
        for study in analysis.between_allocators
        if study.workload.server
        for cell in study.cells
        for name in names
    }


def may_lead(ratios: Mapping[str, Interval]) -> list[str]:
    """The arms with an estimate below the baseline's whose interval reaches the best arm's interval."""
    order = lowest_first(ratios)
    return [name for name in order if ratios[name].low <= ratios[order[0]].high]


def may_lead_or_better(ratios: Mapping[str, Interval]) -> list[str]:
    leaders = may_lead(ratios)
    return [name for name in lowest_first(ratios) if name in leaders or ratios[name].high < 1]


def lowest_first(ratios: Mapping[str, Interval]) -> list[str]:
    better = {name: ratio.estimate for name, ratio in ratios.items() if ratio.estimate < 1}
    return sorted(better, key=better.__getitem__)


def promising(analysis: Analysis, most: int) -> list[str]:
    """The leaders of all rankings in turn: first the best of each, then the second best."""
    turns = zip_longest(*rankings(analysis))
    return list(dict.fromkeys(name for turn in turns for name in turn if name))[:most]
