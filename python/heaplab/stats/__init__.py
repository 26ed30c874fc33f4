"""Statistics: pure functions over numbers. They know nothing of allocators, files or units.

A *pair* is two equally long lists: entry i of both comes from block i. The unit of replication is the
fresh process, the unit of resampling is the block. Every result is a function of its arguments alone:
the resampling is seeded by them.
"""

from heaplab.stats.bootstrap import (
    CONFIDENCE,
    FEWEST_PAIRS,
    Interval,
    Pair,
    compare,
    geometric_mean,
    median_interval,
    seed_of,
)
from heaplab.stats.outliers import outliers
from heaplab.stats.points import nines, thin
from heaplab.stats.stop import PRECISION, precise_enough
from heaplab.stats.verdict import (
    THRESHOLD,
    Judged,
    Verdict,
    Why,
    judge,
    judge_family,
    noise_floor,
    threshold_over,
)

__all__ = [
    "CONFIDENCE",
    "FEWEST_PAIRS",
    "PRECISION",
    "THRESHOLD",
    "Interval",
    "Judged",
    "Pair",
    "Verdict",
    "Why",
    "compare",
    "geometric_mean",
    "judge",
    "judge_family",
    "median_interval",
    "nines",
    "noise_floor",
    "outliers",
    "precise_enough",
    "seed_of",
    "thin",
    "threshold_over",
]
