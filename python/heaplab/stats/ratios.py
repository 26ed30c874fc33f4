"""Ratios of paired values and their geometric means, with intervals.

All computations use logarithms, so that a/b and b/a have intervals that are exact inverses.
"""

from collections.abc import Hashable, Sequence
from math import exp, inf, isfinite, log, nan, sqrt
from typing import NamedTuple

from heaplab.stats import rank_intervals, student
from heaplab.stats.interval import CONFIDENCE, FEWEST_PAIRS, Interval

# In a mean over many values, a value may rest on fewer pairs: the other values compensate for its error.
FEWEST_PAIRS_OF_MANY = 3
FEWEST_COUNTS = 2  # pairs of exact counts: one shows no range

Pair = tuple[Sequence[float], Sequence[float]]
# pairs with equal keys come from the same blocks, such as time and memory of one cell
Keyed = tuple[Pair, Hashable]


def compare(base: Sequence[float], other: Sequence[float]) -> Interval:
    """The ratio of `other` to `base`: the Hodges-Lehmann estimate over the ratios of the pairs.

    The estimate is not a number if a value is missing, not finite or not above 0; there are no bounds for
    fewer than FEWEST_PAIRS pairs. Raises ValueError if the lists differ in length.
    """
    if len(base) != len(other):
        raise ValueError(f"a pair has {len(base)} and {len(other)} values")
    if not _usable(base, other):
        return Interval(nan, count=len(base))
    interval = rank_intervals.hodges_lehmann(_logarithms((base, other)))
    if len(base) < FEWEST_PAIRS:
        return Interval(exp(interval.estimate), count=len(base))
    return Interval(exp(interval.estimate), exp(interval.low), exp(interval.high), len(base))


def spread(base: Sequence[float], other: Sequence[float]) -> Interval:
    """The ratio of exact counts: the geometric mean of all pairs, with the whole range that they have.

    Counts have no noise that would have to be estimated; what differs between two runs shows in their range.
    No bounds with fewer than two pairs.
    """
    if not _usable(base, other):
        return Interval(nan, count=len(base))
    logarithms = _logarithms((base, other))
    mean = exp(sum(logarithms) / len(logarithms))
    if len(logarithms) < FEWEST_COUNTS:
        return Interval(mean, count=len(logarithms))
    return Interval(mean, exp(min(logarithms)), exp(max(logarithms)), len(logarithms))


def geometric_mean(groups: Sequence[Sequence[Keyed]]) -> Interval:
    """Geometric mean of paired ratios. Every group has the same weight, whatever its number of pairs.

    The interval is about repetitions of the same cells, not about other workloads. There are no bounds if a
    cell has fewer than FEWEST_PAIRS_OF_MANY pairs, or all cells together have fewer than FEWEST_PAIRS; pairs
    with equal keys count once.
    """
    cells = [cell for group in groups for cell in group]
    count = _blocks(cells)
    if not cells or not all(groups) or not all(_usable(*pair) for pair, _ in cells):
        return Interval(nan, count=count)
    parts: dict[Hashable, list[tuple[float, Pair]]] = {}
    for group in groups:
        for pair, key in group:
            parts.setdefault(key, []).append((1 / len(group) / len(groups), pair))
    averaged = [_part(weighted) for weighted in parts.values()]
    estimate = sum(part.estimate for part in averaged)
    if min(len(pair[0]) for pair, _ in cells) < FEWEST_PAIRS_OF_MANY or count < FEWEST_PAIRS:
        return Interval(exp(estimate), count=count)
    half = _half_width(averaged)
    return Interval(exp(estimate), exp(estimate - half), exp(estimate + half), count)


def independent_quotient(above: Interval, below: Interval) -> Interval:
    """The quotient of two estimates with independent errors: half-widths of logarithms add as squares."""
    estimate = above.estimate / below.estimate if below.estimate else nan
    count = min(above.count, below.count)
    if not (above.bounded and below.bounded):
        return Interval(estimate, count=count)
    down, up = (
        sqrt(log(above.estimate / a) ** 2 + log(below.estimate / b) ** 2)
        for a, b in ((above.low, below.high), (above.high, below.low))
    )
    return Interval(estimate, estimate * exp(-down), estimate * exp(up), count)


class _Part(NamedTuple):
    """The contribution of the pairs with one key to the logarithm of a mean."""

    estimate: float
    error: float  # standard error
    freedom: int  # degrees of freedom


def _part(weighted: list[tuple[float, Pair]]) -> _Part:
    """The sum of the pairs block by block, because a disturbance of a block affects all its measurements.

    If some blocks lack a figure, the pairs cannot be summed by block. Their errors are then added, as if all
    pairs were disturbed alike.
    """
    lengths = {len(pair[0]) for _, pair in weighted}
    scaled = [[weight * value for value in _logarithms(pair)] for weight, pair in weighted]
    if len(lengths) == 1:
        return _location([sum(values) for values in zip(*scaled, strict=True)])
    locations = [_location(values) for values in scaled]
    return _Part(
        sum(f.estimate for f in locations), sum(f.error for f in locations), min(f.freedom for f in locations)
    )


def _location(values: Sequence[float]) -> _Part:
    """The location of the values. Their standard error is half of the interval, divided by Student's t."""
    interval, freedom = rank_intervals.hodges_lehmann(tuple(values)), max(len(values) - 1, 1)
    steps = student.quantile(freedom, max((1 - CONFIDENCE) / 2, 2.0 ** -len(values)))
    return _Part(interval.estimate, (interval.high - interval.low) / 2 / steps if steps > 0 else inf, freedom)


def _half_width(parts: list[_Part]) -> float:
    """Half the interval of a sum of independent parts (Welch 1947, Satterthwaite 1946)."""
    variance = sum(part.error**2 for part in parts)
    if variance == 0:
        return 0.0
    freedom = variance**2 / sum(part.error**4 / part.freedom for part in parts)
    return student.quantile(freedom, (1 - CONFIDENCE) / 2) * sqrt(variance)


def _logarithms(pair: Pair) -> tuple[float, ...]:
    return tuple(log(other) - log(base) for base, other in zip(*pair, strict=True))


def _usable(*lists: Sequence[float]) -> bool:
    """Whether ratios exist: all values are positive and finite.

    One 0 in a list leaves the ratio undefined.
    """
    return all(len(values) > 0 and all(isfinite(v) and v > 0 for v in values) for values in lists)


def _blocks(cells: Sequence[Keyed]) -> int:
    lengths: dict[Hashable, int] = {}
    for pair, key in cells:
        lengths[key] = max(len(pair[0]), lengths.get(key, 0))
    return sum(lengths.values())


def median_interval(values: Sequence[float]) -> Interval:
    """The median of one list with its interval. Zeros and negative values are allowed."""
    if not values:
        return Interval(nan)
    interval = rank_intervals.median(values)
    if len(values) < FEWEST_PAIRS:
        return Interval(interval.estimate, -inf, inf, len(values))
    return Interval(*interval, len(values))
