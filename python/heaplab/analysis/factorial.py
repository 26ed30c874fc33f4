"""Effects of settings that were crossed in a factorial: what each does, and whether one changes another.

The main effect of a setting is the geometric mean over all arms with the setting's high level, divided by the
mean over all arms with its low level. The interaction of two settings is the effect of one setting at the
high level of the other, divided by its effect at the low level: 1 means that neither setting changes the
effect of the other (Box, Hunter and Hunter, Statistics for Experimenters, on two-level factorials; here on
logarithms).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import prod

from heaplab import stats
from heaplab.analysis.study import MeasuredCell, Study
from heaplab.analysis.whole_analysis import Analysis
from heaplab.stats import Judged, Keyed, Pair

Levels = dict[str, dict[str, str]]  # by arm, then by setting


@dataclass(frozen=True)
class Effect:
    """The effect of one setting, or the interaction of several.

    `judged` is below 1 if it lowers the metric.
    """

    settings: tuple[str, ...]
    high: tuple[str, ...]  # the high level of each setting
    low: tuple[str, ...]
    judged: Judged


def levels_of(analysis: Analysis) -> Levels:
    """The levels of all arms; empty if the arms are no factorial or one of them gave no figure."""
    by_arm = {name: arm.levels for name, arm in analysis.results.libraries.items() if arm.levels}
    silent = any(arm.void for arm in analysis.results.libraries.values())
    return {} if silent or len(by_arm) < len(analysis.allocators) else by_arm


def effects(analysis: Analysis, kind: str, metrics: tuple[str | None, ...]) -> list[Effect]:
    """Main effects, then interactions, over all cells of a kind of workload: one family of comparisons."""
    levels = levels_of(analysis)
    if not levels:
        return []
    low = levels[analysis.baseline]
    high = {name: value for arm in levels.values() for name, value in arm.items() if value != low[name]}
    chosen = [group for size in range(1, len(low) + 1) for group in combinations(low, size)]
    ratios = [stats.geometric_mean(groups_of(analysis, kind, metrics, levels, group)) for group in chosen]
    judged = stats.judge_family(ratios, analysis.control(kind, metrics))
    return [
        Effect(group, tuple(high[name] for name in group), tuple(low[name] for name in group), effect)
        for group, effect in zip(chosen, judged, strict=True)
    ]


def groups_of(
    analysis: Analysis, kind: str, metrics: Iterable[str | None], levels: Levels, group: tuple[str, ...]
) -> list[list[Keyed]]:
    """By study: the pairs of all cells in which every arm has values, with their keys."""
    groups = []
    for metric in metrics:
        for study in analysis.summarised(kind):
            if metric or study.is_timed:
                name, low = metric or study.main_metric, levels[analysis.baseline]
                pairs = ((sides(study, cell, name, levels, low, group), cell) for cell in study.cells)
                groups.append(study.keyed(pairs))
    return [pairs for pairs in groups if pairs]


def sides(
    study: Study, cell: MeasuredCell, metric: str, levels: Levels, low: dict[str, str], group: tuple[str, ...]
) -> Pair:
    """For each block, the two values whose ratio is the effect.

    The value of an arm is a factor of the numerator if an even number of the group's settings is at the low
    level, and of the denominator otherwise. Over 2^k arms and a group of r settings, the exponent 2^r / 2^k
    makes the ratio an effect, whatever the number of other settings.
    """
    values = {arm: study.values(cell, arm, metric) for arm in levels}
    blocks = sorted(set.intersection(*(set(by_block) for by_block in values.values())))
    above = [arm for arm, own in levels.items() if sum(own[name] == low[name] for name in group) % 2 == 0]
    below = [arm for arm in levels if arm not in above]
    power = 2 ** len(group) / len(levels)
    first, last = (
        [prod(values[arm][block] ** power for arm in arms) for block in blocks] for arms in (below, above)
    )
    return (last, first) if study.metric(metric).better == "higher" else (first, last)
