"""Statistics: pure functions over numbers that know nothing about allocators, files or units.

A *pair* consists of two equally long lists: entry i of both comes from block i. The unit of replication is
the fresh process, and blocks are independent of each other. Every result is a function of its arguments
alone.
"""

from heaplab.stats.forecast import (
    Noise as Noise,
    blocks_for as blocks_for,
    half_width_after as half_width_after,
    more_blocks as more_blocks,
    noise as noise,
)
from heaplab.stats.gate_rule import (
    GateVerdict as GateVerdict,
    judge_gate as judge_gate,
    times_the_blocks_of_gate as times_the_blocks_of_gate,
)
from heaplab.stats.interval import (
    CONFIDENCE as CONFIDENCE,
    FEWEST_PAIRS as FEWEST_PAIRS,
    LEVEL as LEVEL,
    Interval as Interval,
    finite as finite,
    in_percent as in_percent,
)
from heaplab.stats.outlier_rule import outliers as outliers
from heaplab.stats.over_hosts import HostRatios as HostRatios, over_hosts as over_hosts
from heaplab.stats.points import nines as nines, thin as thin
from heaplab.stats.rank_agreement import concordance as concordance, ranked as ranked
from heaplab.stats.ratios import (
    Keyed as Keyed,
    Pair as Pair,
    compare as compare,
    geometric_mean as geometric_mean,
    independent_quotient as independent_quotient,
    median_interval as median_interval,
    spread as spread,
)
from heaplab.stats.stopping_rule import precise_enough as precise_enough
from heaplab.stats.verdict import (
    FAMILY_ERROR_TEXT as FAMILY_ERROR_TEXT,
    THRESHOLD as THRESHOLD,
    UNCONTROLLED as UNCONTROLLED,
    Judged as Judged,
    Verdict as Verdict,
    Why as Why,
    judge as judge,
    judge_family as judge_family,
    noise_floor as noise_floor,
    threshold_over as threshold_over,
)
