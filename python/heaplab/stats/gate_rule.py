"""Whether something got worse than it may: the rule of a gate, fixed before anything is measured.

A ratio new to old, lower being better, is WORSE if its whole interval lies beyond the limit, WITHIN if its
whole interval lies below, UNDECIDED otherwise. Holm's procedure (1979) over all ratios that a gate looks at
keeps the chance that it fails although nothing is beyond its limit at 5 %: what the procedure drops is
UNDECIDED.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import isnan

from heaplab.stats.interval import CONFIDENCE, Interval
from heaplab.stats.verdict import Verdict, error_probability, judge


class GateVerdict(StrEnum):
    WORSE = "worse"
    WITHIN = "within"
    UNDECIDED = "undecided"


def judge_gate(ratios: Sequence[Interval], limits: Sequence[float]) -> list[GateVerdict]:
    """The verdicts on ratios that are looked at together, each with its own limit: 0.05 is 5 %."""
    verdicts = [within(ratio, limit) for ratio, limit in zip(ratios, limits, strict=True)]
    values = [
        error_probability(ratio, limit) if judge(ratio, limit) is Verdict.HIGHER else 1.0
        for ratio, limit in zip(ratios, limits, strict=True)
    ]
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        if values[index] > (1 - CONFIDENCE) / (len(values) - rank):
            break
        verdicts[index] = GateVerdict.WORSE
    return verdicts


def within(ratio: Interval, limit: float) -> GateVerdict:
    known = not isnan(ratio.estimate) and ratio.bounded
    return GateVerdict.WITHIN if known and ratio.high <= 1 + limit else GateVerdict.UNDECIDED
