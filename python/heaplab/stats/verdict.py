"""From intervals to verdicts, by rules that are fixed before anything is measured.

With the threshold t (3 %, or the noise floor if that is larger) a ratio is

- LOWER      if its whole interval lies below 1/(1+t),
- HIGHER     if its whole interval lies above 1+t,
- SAME       if its whole interval lies between: "no difference larger than t",
- UNDECIDED  otherwise, and always for a ratio without an interval.

In a family of comparisons Holm's procedure (1979) keeps the probability of any wrong verdict at 5 %. Every
UNDECIDED has a reason, which says what is missing for a verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isnan, log

import numpy as np
from scipy.stats import t as student

from heaplab.stats.interval import CONFIDENCE, FEWEST_PAIRS, Interval

THRESHOLD = 0.03  # smaller differences change nobody's choice of an allocator


class Verdict(StrEnum):
    LOWER = "lower"
    HIGHER = "higher"
    SAME = "same"
    UNDECIDED = "undecided"


class Why(StrEnum):
    """Why a comparison has no verdict."""

    NO_FIGURE = "no figure"  # of at least one side
    FEW_BLOCKS = "few blocks"  # a verdict needs FEWEST_PAIRS
    FEW_IN_A_CELL = "few blocks in a cell"  # one of the cells of a mean has too few for an interval
    MANY_COMPARED = "many compared"  # the ratio alone had a verdict, which Holm's procedure dropped
    NOISE_FLOOR = "noise floor"  # beyond the practical threshold, but not beyond the larger noise floor
    NEAR_THRESHOLD = "near threshold"  # a difference that may be smaller than the threshold
    WIDE = "wide"  # the interval holds 1 and reaches beyond the threshold


@dataclass(frozen=True)
class Judged:
    """A ratio to the baseline, with its verdict."""

    ratio: Interval
    verdict: Verdict
    threshold: float

    @property
    def why(self) -> Why | None:
        """What is missing for a verdict; None if there is one."""
        return why_undecided(self.ratio, self.threshold) if self.verdict is Verdict.UNDECIDED else None


def judge(ratio: Interval, threshold: float = THRESHOLD) -> Verdict:
    """The verdict on a single comparison."""
    if isnan(ratio.estimate):
        return Verdict.UNDECIDED
    if ratio.high < 1 / (1 + threshold):
        return Verdict.LOWER
    if ratio.low > 1 + threshold:
        return Verdict.HIGHER
    if ratio.low >= 1 / (1 + threshold) and ratio.high <= 1 + threshold:
        return Verdict.SAME
    return Verdict.UNDECIDED


def why_undecided(ratio: Interval, threshold: float = THRESHOLD) -> Why:
    """Why a ratio is UNDECIDED."""
    if isnan(ratio.estimate):
        return Why.NO_FIGURE
    if not ratio.bounded:
        return Why.FEW_BLOCKS if ratio.count < FEWEST_PAIRS else Why.FEW_IN_A_CELL
    if judge(ratio, threshold) is not Verdict.UNDECIDED:
        return Why.MANY_COMPARED
    if judge(ratio) is not Verdict.UNDECIDED:
        return Why.NOISE_FLOOR
    return Why.WIDE if ratio.low <= 1 <= ratio.high else Why.NEAR_THRESHOLD


def judge_family(ratios: Sequence[Interval], threshold: float | Sequence[float] = THRESHOLD) -> list[Verdict]:
    """The verdicts on one family of comparisons. What Holm's procedure drops is UNDECIDED.

    All ratios have one threshold, or each has its own.
    """
    limits = [threshold] * len(ratios) if isinstance(threshold, float | int) else threshold
    values = [error_probability(ratio, limit) for ratio, limit in zip(ratios, limits, strict=True)]
    verdicts = [Verdict.UNDECIDED] * len(ratios)
    for rank, index in enumerate(np.argsort(values, kind="stable")):
        if values[index] > (1 - CONFIDENCE) / (len(ratios) - rank):
            break
        verdicts[index] = judge(ratios[index], limits[index])
    return verdicts


def error_probability(ratio: Interval, threshold: float = THRESHOLD) -> float:
    """The probability of the data if the verdict were wrong (a two-sided p-value), 1 for UNDECIDED.

    Ranks of few values know no small probabilities. The interval is therefore treated as one of Student's t:
    the distance from the estimate to the threshold is measured in halves of the interval. At the threshold
    the result is exactly 5 %, as in `judge`.
    """
    verdict = judge(ratio, threshold)
    if verdict is Verdict.UNDECIDED:
        return 1.0
    estimate, low, high, edge = log(ratio.estimate), log(ratio.low), log(ratio.high), log(1 + threshold)
    if verdict is Verdict.LOWER:
        steps = _steps(-edge - estimate, high - estimate)
    elif verdict is Verdict.HIGHER:
        steps = _steps(estimate - edge, estimate - low)
    else:
        steps = min(_steps(edge - estimate, high - estimate), _steps(estimate + edge, estimate - low))
    freedom = max(ratio.count - 1, 1)
    return float(2 * student.sf(steps * student.ppf((1 + CONFIDENCE) / 2, freedom), freedom))


def _steps(distance: float, half: float) -> float:
    """The distance to the threshold in half intervals; infinite for an interval of width 0."""
    return distance / half if half > 0 else inf


def noise_floor(control: Sequence[Interval]) -> float:
    """How far baseline and control differ by noise alone: 0.01 is 1 %; not a number without a control.

    The result is the 95th percentile of the distances from 1, over all cells that have a control.
    """
    distances = [abs(log(ratio.estimate)) for ratio in control if not isnan(ratio.estimate)]
    return float(np.expm1(np.quantile(distances, CONFIDENCE))) if distances else float("nan")


def threshold_over(control: Sequence[Interval]) -> float:
    """The difference that a ratio must exceed: THRESHOLD, or the noise floor if that is larger.

    The intervals already cover the variation between runs. The control shows what the intervals cannot: a
    machine that treats equal runs unequally. Therefore the control's estimates count here, not its intervals.
    """
    floor = noise_floor(control)
    return THRESHOLD if isnan(floor) else max(THRESHOLD, floor)
