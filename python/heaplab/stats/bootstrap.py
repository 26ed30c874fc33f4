"""Ratios of medians with bootstrap intervals (Efron 1979; Kalibera and Jones 2013 for the unit resampled).

Everything happens on logarithms, so that a/b and b/a give intervals that are exact inverses.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, isfinite, log, nan

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 10_000
# The range of n values covers the median with probability 1 - 2^(1-n): 94 % at five, 88 % at four.
FEWEST_PAIRS = 5
# In a mean over many values single values may rest on fewer: what one interval misses the others make good.
FEWEST_PAIRS_OF_MANY = 3

Pair = tuple[Sequence[float], Sequence[float]]
Draws = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval. Unknown bounds are 0 and infinity: nothing is excluded."""

    estimate: float
    low: float = 0.0
    high: float = inf
    count: int = 0  # values or pairs it rests on

    @property
    def bounded(self) -> bool:
        return self.low > 0 and isfinite(self.high)

    @property
    def half_width(self) -> float:
        """Half the width relative to the estimate: 0.02 is "to 2 %"; infinite without bounds."""
        return (log(self.high) - log(self.low)) / 2 if self.bounded else inf

    def inverse(self) -> "Interval":
        """The interval of b/a from that of a/b."""
        return Interval(_reciprocal(self.estimate), _reciprocal(self.high), _reciprocal(self.low), self.count)


def _reciprocal(value: float) -> float:
    return inf if value == 0 else 1 / value


def seed_of(*parts: object) -> int:
    """A seed that is the same on every machine: cells with different names are resampled independently."""
    return zlib.crc32("\0".join(map(str, parts)).encode())


@lru_cache(maxsize=64)
def _choices(count: int, seed: int) -> NDArray[np.intp]:
    return np.random.default_rng(seed).integers(0, count, (RESAMPLES, count))


@lru_cache(maxsize=1024)  # a list takes part in many comparisons
def _medians(values: tuple[float, ...], seed: int) -> tuple[float, Draws]:
    """The median, and the medians of all resamples."""
    array = np.array(values, dtype=float)
    return float(np.median(array)), np.median(array[_choices(len(array), seed)], axis=1)


def _usable(*lists: Sequence[float]) -> bool:
    """Ratios need positive finite values; one 0 in a list of counts leaves its ratio undefined."""
    return all(len(values) > 0 and all(isfinite(v) and v > 0 for v in values) for values in lists)


def _interval(estimate: float, draws: Draws, count: int) -> Interval:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(exp(estimate), exp(low), exp(high), count)


def _log_ratio(pair: Pair, seed: int) -> tuple[float, Draws]:
    base, base_draws = _medians(tuple(pair[0]), seed)
    other, other_draws = _medians(tuple(pair[1]), seed)
    return log(other) - log(base), np.log(other_draws) - np.log(base_draws)


def compare(base: Sequence[float], other: Sequence[float], seed: int = 0) -> Interval:
    """Median of `other` over median of `base`, paired: a resample takes both values of a block or neither.

    The estimate is not a number where a value is missing, not finite or not above 0; there are no bounds
    with fewer than FEWEST_PAIRS pairs. Raises ValueError if the lists differ in length.
    """
    if len(base) != len(other):
        raise ValueError(f"a pair has {len(base)} and {len(other)} values")
    if not _usable(base, other):
        return Interval(nan, count=len(base))
    estimate, draws = _log_ratio((base, other), seed)
    if len(base) < FEWEST_PAIRS:
        return Interval(exp(estimate), count=len(base))
    return _interval(estimate, draws, len(base))


def geometric_mean(groups: Sequence[Sequence[tuple[Pair, int]]]) -> Interval:
    """Geometric mean of paired ratios, every group weighing the same however many pairs-and-seeds it has.

    The interval speaks of repeating the same cells, not of other workloads. No bounds if a cell has fewer
    than FEWEST_PAIRS_OF_MANY pairs or all together have fewer than FEWEST_PAIRS, those of one seed once.
    """
    cells = [cell for group in groups for cell in group]
    if not cells or not all(groups) or not all(_usable(*pair) for pair, _ in cells):
        return Interval(nan, count=_blocks(cells))
    estimate, draws = 0.0, np.zeros(RESAMPLES)
    for group in groups:
        for pair, seed in group:
            one, one_draws = _log_ratio(pair, seed)
            estimate += one / len(group) / len(groups)
            draws += one_draws / len(group) / len(groups)
    count = _blocks(cells)
    if min(len(pair[0]) for pair, _ in cells) < FEWEST_PAIRS_OF_MANY or count < FEWEST_PAIRS:
        return Interval(exp(estimate), count=count)
    return _interval(estimate, draws, count)


def _blocks(cells: Sequence[tuple[Pair, int]]) -> int:
    """Pairs of one seed are of the same blocks, such as time and memory of one cell, and count once."""
    lengths: dict[int, int] = {}
    for pair, seed in cells:
        lengths[seed] = max(len(pair[0]), lengths.get(seed, 0))
    return sum(lengths.values())


def median_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """The median of one list with its interval; zeros and negative values are welcome here."""
    if not values:
        return Interval(nan)
    estimate, draws = _medians(tuple(values), seed)
    if len(values) < FEWEST_PAIRS:
        return Interval(estimate, -inf, inf, len(values))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(estimate, float(low), float(high), len(values))
