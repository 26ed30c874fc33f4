"""The arms of a screening that are worth measuring again: those that may be better than the baseline.

A screening has few blocks, and the best arm of many is partly lucky. Therefore nothing here is a result: the
chosen arms must be measured afresh.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from heaplab.analysis.standing import Analysis
from heaplab.catalog.server_spec import after
from heaplab.stats import Interval


def rankings(analysis: Analysis) -> list[list[str]]:
    """The arms that may lead by time, by memory and by both together, each ranking with the best first.

    The results are of one program. Of a server the memory after idling has a ranking of its own, because
    people tune servers for it. An arm without a figure in some cell is in no ranking.
    """
    kinds = {study.workload.kind for study in analysis.between_allocators}
    standings = [one for kind in kinds for one in analysis.standings(kind) if one.complete]
    ratios = [
        {one.allocator: getattr(one, measure).ratio for one in standings}
        for measure in ("time", "memory", "cost")
    ]
    idle = after_idling(analysis, [one.allocator for one in standings])
    return [ranking(found) for found in ([*ratios, idle] if idle else ratios)]


def after_idling(analysis: Analysis, names: Sequence[str]) -> dict[str, Interval]:
    """The memory of a server after its longest idle time; nothing of other programs."""
    return {
        name: study.ratio(cell, name, after(study.workload.server.idle_s[-1]))
        for study in analysis.between_allocators
        if study.workload.server
        for cell in study.cells
        for name in names
    }


def ranking(ratios: Mapping[str, Interval]) -> list[str]:
    """The arms with an estimate below the baseline's whose interval reaches the best arm's interval."""
    better = {name: ratio for name, ratio in ratios.items() if ratio.estimate < 1}
    order = sorted(better, key=lambda name: better[name].estimate)
    return [name for name in order if better[name].low <= better[order[0]].high]


def promising(analysis: Analysis, most: int) -> list[str]:
    """The leaders of all rankings in turn: first the best of each, then the second best."""
    turns = zip_longest(*rankings(analysis))
    return list(dict.fromkeys(name for turn in turns for name in turn if name))[:most]
