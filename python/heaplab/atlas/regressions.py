"""Regressions from one build of an allocator to the next, by the rule of `heaplab gate`.

Two builds are compared by their ratios to the same build of the baseline, on one machine with one kernel and
C library, over the same cells. They were measured in different campaigns, so that their errors are
independent: the half-widths of both intervals add as squares, and so do those of both controls. All
comparisons of the atlas are one family, like all cells of a gate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from heaplab import stats
from heaplab.atlas.many_campaigns import Atlas, Dated
from heaplab.stats import GateVerdict, Interval

LIMITS = {"time": 0.05, "memory": 0.03}  # the default limits of `heaplab gate`


@dataclass(frozen=True)
class BuildChange:
    """An allocator in one experiment, under one build and the next."""

    old: Dated
    new: Dated
    ratio: Interval  # new to old: above 1 is worse
    control: Interval
    verdict: GateVerdict = GateVerdict.COULD_NOT_TELL

    @property
    def limit(self) -> float:
        return LIMITS[self.new.ratio.measure]


def build_changes(atlas: Atlas) -> list[BuildChange]:
    # The last ratio of every build, in the order in which the builds appeared: a key keeps its first place.
    builds = [{dated.build: dated for dated in line}.values() for line in lines(atlas)]
    changes = [change(old, new) for line in builds for old, new in pairwise(line)]
    verdicts = stats.judge_gate(
        [each.ratio for each in changes], [each.control for each in changes], [each.limit for each in changes]
    )
    return [replace(each, verdict=verdict) for each, verdict in zip(changes, verdicts, strict=True)]


def lines(atlas: Atlas) -> Iterable[list[Dated]]:
    """Ratios that may be compared, the oldest first."""
    by_build: dict[tuple[str, str, str, str], list[Dated]] = {}
    for dated in atlas.ratios:
        ratio = dated.ratio
        key = (ratio.about, ratio.measure, ratio.allocator, ratio.settings)
        by_build.setdefault(key, []).append(dated)
    return by_build.values()


def change(old: Dated, new: Dated) -> BuildChange:
    before, after = old.ratio.judged, new.ratio.judged
    return BuildChange(
        old,
        new,
        stats.independent_quotient(after.ratio, before.ratio),
        stats.independent_quotient(after.control, before.control),
    )
