"""Whether something got worse than allowed: the rule of a gate, fixed before anything is measured.

A ratio of new to old, where lower is better, is WORSE if its whole interval lies above the limit, WITHIN if
its whole interval lies below the limit, and UNDECIDED otherwise. A gate that fails although no ratio is above
its limit is a false alarm; Holm's procedure (1979) over all ratios of the gate keeps the probability of a
false alarm at 5 %. Ratios that the procedure drops are UNDECIDED.
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
    """The verdicts on ratios that form one family, each with its own limit: 0.05 is 5 %."""
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
