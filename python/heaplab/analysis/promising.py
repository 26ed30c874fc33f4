"""Which arms of a screening are worth measuring once more: those that may be better than the baseline.

A screening has few blocks, and the best of many is in part lucky. So nothing here is a result: what is chosen
has to be measured afresh.
"""

from collections.abc import Mapping
from itertools import zip_longest

from heaplab.analysis.standing import Analysis
from heaplab.stats import Interval


def rankings(analysis: Analysis) -> list[list[str]]:
    """By time, by memory and by both together: the arms that may lead, the best first.

    Results hold one kind of workload. An arm without a figure in some cell is in no ranking.
    """
    kinds = {study.workload.kind for study in analysis.between_allocators}
    standings = [one for kind in kinds for one in analysis.standings(kind) if one.complete]
    return [
        ranking({one.allocator: getattr(one, measure).ratio for one in standings})
        for measure in ("time", "memory", "cost")
    ]


def ranking(ratios: Mapping[str, Interval]) -> list[str]:
    """Those that came out better than the baseline and whose interval reaches that of the best."""
    better = {name: ratio for name, ratio in ratios.items() if ratio.estimate < 1}
    order = sorted(better, key=lambda name: better[name].estimate)
    return [name for name in order if better[name].low <= better[order[0]].high]


def promising(analysis: Analysis, most: int) -> list[str]:
    """The leaders of all rankings in turn: first the best of each, then the second best."""
    turns = zip_longest(*rankings(analysis))
    return list(dict.fromkeys(name for turn in turns for name in turn if name))[:most]
