"""Whether something got worse than allowed: the rule of a gate, fixed before anything is measured.

A ratio of new to old, where lower is better, is

- WORSE           if its whole interval lies above the limit, and above the noise floor,
- NOT_WORSE       if its whole interval lies below the limit, and the noise floor is not above the limit,
- COULD_NOT_TELL  otherwise: this machine could not tell;
- NOT_JUDGED      if it has no limit, and stands beside the others for its reader.

The noise floor is the largest difference that the interval of old against itself does not exclude. The limit
is the user's and never moves: where noise exceeds it, the gate has no answer. A gate that fails although no
ratio is above its limit is a false alarm; Holm's procedure (1979) over all ratios of the gate keeps the
probability of a false alarm at FAMILY_ERROR. Ratios that the procedure drops could not be told.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import inf, isfinite, isnan, log1p

from heaplab.stats.interval import Interval
from heaplab.stats.verdict import Verdict, error_probability, holm, judge, noise_floor


class GateVerdict(StrEnum):
    WORSE = "worse"
    NOT_WORSE = "not worse"
    COULD_NOT_TELL = "could not tell"
    NOT_JUDGED = "not judged"


def judge_gate(
    ratios: Sequence[Interval], controls: Sequence[Interval], limits: Sequence[float]
) -> list[GateVerdict]:
    """The verdicts on ratios that form one family, each with its own control and limit: 0.05 is 5 %."""
    rows = list(zip(ratios, controls, limits, strict=True))
    worse = holm([error_probability(*row) if judge(*row) is Verdict.HIGHER else 1.0 for row in rows])
    return [GateVerdict.WORSE if kept else unless_worse(*row) for kept, row in zip(worse, rows, strict=True)]


def times_the_blocks_of_gate(ratio: Interval, control: Interval, limit: float) -> float:
    """How many times the present blocks a limit takes if new is like old; infinity without intervals.

    Both intervals have to lie within the limit 19 times in 20, though their estimates vary: a half-width of
    half the limit leaves its other half, two standard errors, to the estimate.
    """
    widest = max(ratio.half_width, control.half_width)
    return max(1.0, (widest / (log1p(limit) / 2)) ** 2) if isfinite(widest) else inf


def unless_worse(ratio: Interval, control: Interval, limit: float) -> GateVerdict:
    known = not isnan(ratio.estimate) and ratio.bounded
    if known and ratio.high <= 1 + limit and noise_floor(control) <= limit:
        return GateVerdict.NOT_WORSE
    return GateVerdict.COULD_NOT_TELL
