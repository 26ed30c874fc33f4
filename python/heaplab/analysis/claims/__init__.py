"""Published sentences as tests on results: an expectation of an experiment holds, does not hold, or is open.

Every kind of test turns the results into ratios with intervals and names the region in which each ratio must
lie. The sentence holds if the whole interval lies inside, does not hold if it lies outside, and is undecided
otherwise. It cannot be decided here if what it is about was not measured. A ratio over several cells is a
geometric mean.

| test             | arguments                         | the ratio                   | must lie in        |
|------------------|-----------------------------------|-----------------------------|--------------------|
| `better_than`    | allocator, [than], [by]           | allocator / than            | below 1 / (1+by)   |
| `ratio_within`   | allocator, [than], BOUNDS         | allocator / than            | low..high          |
| `mean_within`    | allocator, [than], BOUNDS         | mean of allocator / than    | low..high          |
| `order`          | allocator (a list, best first)    | each / the next             | below 1 / (1+by)   |
| `increases_with` | along, [allocator], [factor]      | last / first value of along | factor and above   |
| `decreases_with` | along, [allocator], [factor]      | last / first value of along | 1/factor and below |
| `flat_with`      | along, [allocator], [factor]      | last / first value of along | 1/factor..factor   |
| `value_within`   | along, value, than, BOUNDS        | value / than of along       | low..high          |
| `gain_within`    | along, value, than, BOUNDS        | the same, over the baseline | low..high          |
| `unobtainable`   |                                   | none: what it is about cannot be had | nowhere   |

BOUNDS are [low], [high] and [amount]. An amount that the sentence states, a ratio or the ends of a range, has
a verdict of its own: a third of the stated change of the ratio is allowed (demands.py). The direction, by
default the side of 1 on which the amount lies, has another, and the sentence holds if both hold.

Common arguments: `metric` is the workload's main metric unless given. `allocator` is a name or a list; every
allocator of the list must pass; the default is every allocator measured. `than` is an allocator, by default
the baseline, or a list of which each is compared; in `mean_within` a list is paired with the list of
`allocator`. `by` is 0.03 and `factor` 1.03 unless given. Along `threads` the last value is the largest with a
CPU for each thread. Every other argument names a swept parameter and restricts the cells to the given value
or values. In `better_than` and `order`, better is lower, or higher for metrics like a rate. `gain_within` is
the mean over the allocators of a ratio of ratios: the value / than of the allocator over the value / than of
the baseline.

If an experiment compares the values of a parameter, the parameter's name replaces `allocator`, and every
allocator under which the experiment ran gives a result of its own.
"""

from heaplab.analysis.claims.claim_tests import NUMBERS, TESTS, MeasuredRatio, listed, not_measured
from heaplab.analysis.claims.demands import DIRECTION, ClaimResult, around
from heaplab.analysis.claims.outcomes import (
    ClaimOutcome,
    allocators_of,
    axis_of,
    check,
    evaluate,
    evaluate_study,
    higher_is_better,
    judge,
    measured_ratios,
    test_of,
    undecided,
)
