"""From intervals to words, with rules fixed before anything is measured.

With the threshold t (3 % unless noise is larger) a ratio is

- LOWER      if its whole interval lies below 1/(1+t),
- HIGHER     if its whole interval lies above 1+t,
- SAME       if its whole interval lies between: "no difference larger than t",
- UNDECIDED  otherwise, which includes every ratio without an interval.

In a family of comparisons Holm's procedure (1979) keeps the chance of any wrong word at 5 %.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import inf, isnan, log

import numpy as np
from scipy.stats import t as student

from heaplab.stats.bootstrap import CONFIDENCE, Interval

THRESHOLD = 0.03  # differences below this change nobody's choice of an allocator


class Verdict(StrEnum):
    LOWER = "lower"
    HIGHER = "higher"
    SAME = "same"
    UNDECIDED = "undecided"


def judge(ratio: Interval, threshold: float = THRESHOLD) -> Verdict:
    """The verdict on one comparison that stands alone."""
    if isnan(ratio.estimate):
        return Verdict.UNDECIDED
    if ratio.high < 1 / (1 + threshold):
        return Verdict.LOWER
    if ratio.low > 1 + threshold:
        return Verdict.HIGHER
    if ratio.low >= 1 / (1 + threshold) and ratio.high <= 1 + threshold:
        return Verdict.SAME
    return Verdict.UNDECIDED


def judge_family(ratios: Sequence[Interval], threshold: float = THRESHOLD) -> list[Verdict]:
    """The verdicts on comparisons that are read together: what Holm's procedure drops is UNDECIDED."""
    values = [error_probability(ratio, threshold) for ratio in ratios]
    verdicts = [Verdict.UNDECIDED] * len(ratios)
    for rank, index in enumerate(np.argsort(values, kind="stable")):
        if values[index] > (1 - CONFIDENCE) / (len(ratios) - rank):
            break
        verdicts[index] = judge(ratios[index], threshold)
    return verdicts


def error_probability(ratio: Interval, threshold: float = THRESHOLD) -> float:
    """The probability of the data if the verdict were wrong (a two-sided p-value), 1 for UNDECIDED.

    The bootstrap knows no tails beyond the smallest and largest value, so the interval is read as one of
    Student's t: the distance from the estimate to the threshold in units of the interval's own half. At
    the threshold this is exactly 5 %, as in `judge`.
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
    """How many half intervals fit in the distance to the threshold; a width of 0 fits infinitely often."""
    return distance / half if half > 0 else inf


def noise_floor(control: Sequence[Interval]) -> float:
    """How far apart the baseline and itself come out: 0.01 is 1 %; not a number without a control.

    The 95th percentile of the distances from 1 over all cells that have a control.
    """
    distances = [abs(log(ratio.estimate)) for ratio in control if not isnan(ratio.estimate)]
    return float(np.expm1(np.quantile(distances, CONFIDENCE))) if distances else float("nan")


def threshold_over(control: Sequence[Interval]) -> float:
    """What a difference must exceed: THRESHOLD, or the noise floor where that is larger.

    The intervals already carry the chance of single runs. The control shows what they cannot know, a
    machine that treats equal things unequally, so its estimates count here and not their intervals.
    """
    floor = noise_floor(control)
    return THRESHOLD if isnan(floor) else max(THRESHOLD, floor)
