"""From intervals to verdicts, by rules that are fixed before anything is measured.

The control, which is the baseline measured once more, tells what the machine shows where there is nothing to
show: the noise floor is the largest difference that the control's interval does not exclude. With t = 3 %,
and e = t or the noise floor if that is larger, a ratio is

- LOWER      if its whole interval lies below 1/(1+e),
- HIGHER     if its whole interval lies above 1+e,
- SAME       if its whole interval lies between 1/(1+t) and 1+t, and so does the control's,
- UNDECIDED  otherwise, and always for a ratio without an interval.

So no verdict is finer than what the machine can tell of two things that are equal. In a family of comparisons
Holm's procedure (1979) keeps the probability of any wrong verdict at FAMILY_ERROR. Every UNDECIDED has a
reason, which says what is missing for a verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import repeat
from math import inf, isnan, log, nan

from heaplab.stats import student
from heaplab.stats.interval import CONFIDENCE, FEWEST_PAIRS, Interval, in_percent

THRESHOLD = 0.03  # smaller differences change nobody's choice of an allocator
FAMILY_ERROR = 0.05  # probability of any wrong verdict among comparisons that are read together
FAMILY_ERROR_TEXT = in_percent(FAMILY_ERROR)
UNCONTROLLED = Interval(nan)  # the control of what has none


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
    NOISE_FLOOR = "noise floor"  # the control's interval reaches too far beyond the practical threshold
    NEAR_THRESHOLD = "near threshold"  # a difference that may be smaller than the threshold
    WIDE = "wide"  # the interval holds 1 and reaches beyond the threshold


@dataclass(frozen=True)
class Judged:
    """A ratio to the baseline, with its verdict."""

    ratio: Interval
    verdict: Verdict
    control: Interval = UNCONTROLLED

    @property
    def threshold(self) -> float:
        """The difference that the whole interval must exceed: 0.03 is 3 %."""
        return threshold_over(self.control)

    @property
    def why(self) -> Why | None:
        """What is missing for a verdict; None if there is one."""
        ratio = self.ratio
        if self.verdict is not Verdict.UNDECIDED:
            return None
        if isnan(ratio.estimate):
            return Why.NO_FIGURE
        if not ratio.bounded:
            return Why.FEW_BLOCKS if ratio.count < FEWEST_PAIRS else Why.FEW_IN_A_CELL
        if judge(ratio, self.control) is not Verdict.UNDECIDED:
            return Why.MANY_COMPARED
        if judge(ratio) is not Verdict.UNDECIDED:
            return Why.NOISE_FLOOR
        return Why.WIDE if ratio.low <= 1 <= ratio.high else Why.NEAR_THRESHOLD


def noise_floor(control: Interval) -> float:
    """The largest difference that the control's interval does not exclude; 0 without a control."""
    if isnan(control.estimate):
        return 0.0
    return max(control.high, 1 / control.low) - 1 if control.bounded else inf


def threshold_over(control: Interval, threshold: float = THRESHOLD) -> float:
    """The difference that a ratio must exceed: the threshold, or the noise floor if that is larger."""
    return max(threshold, noise_floor(control))


def judge(ratio: Interval, control: Interval = UNCONTROLLED, threshold: float = THRESHOLD) -> Verdict:
    if isnan(ratio.estimate):
        return Verdict.UNDECIDED
    edge = threshold_over(control, threshold)
    if ratio.high < 1 / (1 + edge):
        return Verdict.LOWER
    if ratio.low > 1 + edge:
        return Verdict.HIGHER
    if edge <= threshold and ratio.low >= 1 / (1 + threshold) and ratio.high <= 1 + threshold:
        return Verdict.SAME
    return Verdict.UNDECIDED


def judge_family(
    ratios: Sequence[Interval],
    controls: Interval | Sequence[Interval] = UNCONTROLLED,
    threshold: float = THRESHOLD,
) -> list[Judged]:
    """One family of comparisons, judged. What Holm's procedure drops is UNDECIDED.

    All ratios have one control, or each has its own.
    """
    own = repeat(controls, len(ratios)) if isinstance(controls, Interval) else controls
    pairs = list(zip(ratios, own, strict=True))
    kept = holm([error_probability(ratio, control, threshold) for ratio, control in pairs])
    return [
        Judged(ratio, judge(ratio, control, threshold) if verdict else Verdict.UNDECIDED, control)
        for verdict, (ratio, control) in zip(kept, pairs, strict=True)
    ]


def holm(probabilities: Sequence[float]) -> list[bool]:
    """Which verdicts of a family stay: any wrong one has a probability of FAMILY_ERROR (Holm 1979)."""
    kept = [False] * len(probabilities)
    for rank, index in enumerate(sorted(range(len(kept)), key=probabilities.__getitem__)):
        if probabilities[index] > FAMILY_ERROR / (len(kept) - rank):
            break
        kept[index] = True
    return kept


def error_probability(
    ratio: Interval, control: Interval = UNCONTROLLED, threshold: float = THRESHOLD
) -> float:
    """The probability of the data if the verdict were wrong (a two-sided p-value), 1 for UNDECIDED.

    Ranks of few values know no small probabilities. The interval is therefore treated as one of Student's t:
    the distance from the estimate to the edge is measured in halves of the interval. At the edge the result
    is exactly the error of the interval, as in `judge`.
    """
    verdict = judge(ratio, control, threshold)
    if verdict is Verdict.UNDECIDED:
        return 1.0
    estimate, low, high = log(ratio.estimate), log(ratio.low), log(ratio.high)
    edge = log(1 + threshold_over(control, threshold))
    if verdict is Verdict.LOWER:
        steps = _steps(-edge - estimate, high - estimate)
    elif verdict is Verdict.HIGHER:
        steps = _steps(estimate - edge, estimate - low)
    else:
        steps = min(_steps(edge - estimate, high - estimate), _steps(estimate + edge, estimate - low))
    freedom = max(ratio.count - 1, 1)
    return 2 * student.tail(freedom, steps * student.quantile(freedom, (1 - CONFIDENCE) / 2))


def _steps(distance: float, half: float) -> float:
    """The distance to the threshold in half intervals; infinite for an interval of width 0."""
    return distance / half if half > 0 else inf
