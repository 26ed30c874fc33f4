"""Two rules that use the probes beside the runs: void slow runs, or take out of a ratio what probes explain.

A probe is a fixed amount of work before and after a run. The allocator of the run cannot change how long the
probe takes, so that neither rule can favour one side of a pair: the probes of both sides have the same
distribution. Which rule is used is decided once, by measurements; until then probes are recorded only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import fmean, quantiles

from heaplab.stats import rank_intervals
from heaplab.stats.interval import FEWEST_PAIRS, Interval

SLOW = 1.08  # times the usual probe; measured: probes around slow runs take 1.10 to 1.15 times as long
FEWEST_PROBES = 20  # before "usual" is known


@dataclass(frozen=True)
class ProbedPair:
    """The values of both sides of a block, each with the mean time of its two probes."""

    base: float
    other: float
    base_probe: float
    other_probe: float

    @property
    def ratio(self) -> float:
        return log(self.other / self.base)

    @property
    def probes(self) -> float:
        """The logarithm of the ratio of the probes: 0 if both sides ran on equally fast cores."""
        return log(self.other_probe / self.base_probe)


def usual_probe(earlier: Sequence[float]) -> float:
    """The lower quartile of the probes so far, which slow modes hardly move; infinite for too few probes."""
    return quantiles(earlier, n=4)[0] if len(earlier) >= FEWEST_PROBES else inf


def is_slow(probe: float, usual: float) -> bool:
    """Whether a probe shows the slow mode, so that its run would be void and repeated."""
    return probe > SLOW * usual


def without_slow(pairs: Sequence[ProbedPair], usual: float) -> list[ProbedPair]:
    """The pairs that the rule of voiding leaves. Repetitions would fill the gaps, at the cost of time."""
    return [pair for pair in pairs if not is_slow(max(pair.base_probe, pair.other_probe), usual)]


def slope(groups: Sequence[Sequence[ProbedPair]]) -> float:
    """By how much the logarithm of a ratio changes with that of its probes: one least-squares slope for all.

    Every group has a level of its own, the ratio that is to be estimated. Within 0 and the slope at which a
    run slows down five times as much as its probe; 0 without variation.
    """
    above = below = 0.0
    for group in groups:
        if len(group) < 2:
            continue
        level, probe = fmean(p.ratio for p in group), fmean(p.probes for p in group)
        above += sum((p.ratio - level) * (p.probes - probe) for p in group)
        below += sum((p.probes - probe) ** 2 for p in group)
    return min(5.0, max(0.0, above / below)) if below > 0 else 0.0


def controlled(pairs: Sequence[ProbedPair], by: float) -> Interval:
    """The ratio and its interval after subtracting `by` times what the probes of each pair differ.

    With `by` 0 the result is that of `compare`. The mean of what is subtracted is 0 for equally likely modes,
    and `by` comes from all cells together, so that no cell adapts to its own noise.
    """
    found = rank_intervals.hodges_lehmann(tuple(pair.ratio - by * pair.probes for pair in pairs))
    if len(pairs) < FEWEST_PAIRS:
        return Interval(exp(found.estimate), count=len(pairs))
    return Interval(exp(found.estimate), exp(found.low), exp(found.high), len(pairs))
