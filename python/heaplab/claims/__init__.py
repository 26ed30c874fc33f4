"""Published sentences as tests on results: an expectation of an experiment holds, does not hold, or is open.

Every kind of test turns the results into ratios with 95 % intervals and names the region in which the ratio
must lie. The sentence holds if the whole interval lies inside, does not hold if it lies outside, and is
undecided otherwise. It cannot be decided here if what it is about was not measured. A ratio over several
cells is a geometric mean.

| test             | arguments                         | the ratio                   | must lie in        |
|------------------|-----------------------------------|-----------------------------|--------------------|
| `better_than`    | allocator, [than], [by]           | allocator / than            | below 1 / (1+by)   |
| `ratio_within`   | allocator, [than], [low], [high]  | allocator / than            | low..high          |
| `mean_within`    | allocator, [than], [low], [high]  | mean of allocator / than    | low..high          |
| `order`          | allocator (a list, best first)    | each / the next             | below 1 / (1+by)   |
| `increases_with` | along, [allocator], [factor]      | last / first value of along | factor and above   |
| `decreases_with` | along, [allocator], [factor]      | last / first value of along | 1/factor and below |
| `flat_with`      | along, [allocator], [factor]      | last / first value of along | 1/factor..factor   |
| `value_within`   | along, value, than, [low], [high] | value / than of along       | low..high          |
| `gain_within`    | along, value, than, [low], [high] | the same, over the baseline | low..high          |

Common arguments: `metric` is the workload's main metric unless given. `allocator` is a name or a list; every
allocator of the list must pass; the default is every allocator measured. `than` is an allocator, by default
the baseline; in `mean_within` a list is paired with the list of `allocator`. `by` is 0.03 and `factor` 1.03
unless given. Along `threads` the last value is the largest with a CPU for each thread. Every other argument
names a swept parameter and restricts the cells to the given value or values. In `better_than` and `order`,
better is lower, or higher for metrics like a rate. `gain_within` is the mean over the allocators of a ratio
of ratios: the value / than of the allocator over the value / than of the baseline.

If an experiment compares the values of a parameter, the parameter's name replaces `allocator`, and every
allocator under which the experiment ran gives a result of its own.
"""

from heaplab.claims.claim_tests import TESTS as TESTS, ClaimResult as ClaimResult
from heaplab.claims.outcomes import (
    ClaimOutcome as ClaimOutcome,
    allocators_of as allocators_of,
    check as check,
    evaluate as evaluate,
    evaluate_study as evaluate_study,
)
