"""Statistics: pure functions over numbers. They know nothing of allocators, files or units.

A *pair* is two equally long lists: entry i of both comes from block i. The unit of replication is the
fresh process, the unit of resampling is the block. Every result is a function of its arguments alone:
the resampling is seeded by them.
"""

from heaplab.lazy import door

__getattr__ = door(
    __name__,
    {
        "heaplab.stats.bootstrap": [
            "CONFIDENCE",
            "FEWEST_PAIRS",
            "Interval",
            "Pair",
            "compare",
            "geometric_mean",
            "median_interval",
            "seed_of",
        ],
        "heaplab.stats.outlying": ["outliers"],
        "heaplab.stats.points": ["nines", "thin"],
        "heaplab.stats.stop": ["PRECISION", "precise_enough"],
        "heaplab.stats.verdict": [
            "THRESHOLD",
            "Judged",
            "Verdict",
            "Why",
            "judge",
            "judge_family",
            "noise_floor",
            "threshold_over",
        ],
    },
)
