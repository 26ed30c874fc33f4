"""Statistics: pure functions over numbers that know nothing about allocators, files or units.

A *pair* consists of two equally long lists: entry i of both comes from block i. The unit of replication is
the fresh process, and blocks are independent of each other. Every result is a function of its arguments
alone.
"""

from heaplab.stats.forecast import Noise, blocks_for, half_width_after, more_blocks, noise
from heaplab.stats.gate_rule import GateVerdict, judge_gate, times_the_blocks_of_gate
from heaplab.stats.interval import CONFIDENCE, FEWEST_PAIRS, LEVEL, Interval, finite, in_percent
from heaplab.stats.outlier_rule import outliers
from heaplab.stats.over_hosts import HostRatios, over_hosts
from heaplab.stats.points import nines, thin
from heaplab.stats.rank_agreement import concordance, ranked
from heaplab.stats.ratios import (
    Keyed,
    Pair,
    compare,
    geometric_mean,
    independent_quotient,
    median_interval,
    spread,
)
from heaplab.stats.stopping_rule import precise_enough
from heaplab.stats.verdict import (
    FAMILY_ERROR_TEXT,
    THRESHOLD,
    UNCONTROLLED,
    Judged,
    Verdict,
    Why,
    judge,
    judge_family,
    noise_floor,
    threshold_over,
)
