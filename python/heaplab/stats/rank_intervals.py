"""Location estimates with intervals that assume no distribution and are exact for any number of values.

- Differences within pairs: the Hodges-Lehmann estimate, which is the median of the means of any two values
  (Walsh averages), with the interval of Wilcoxon's signed-rank test (Hodges and Lehmann 1963). The estimate
  assumes that the differences are symmetric about the estimated value, as are the differences between two
  equally noisy runs of a block.
- Single values: the median with the interval of the sign test, which assumes nothing.

Both tests reach only certain probabilities of error. The bounds are interpolated between the two
probabilities next to that of the level (Hettmansperger and Sheather 1986).
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heaplab.stats.interval import CONFIDENCE

TAIL = (1 - CONFIDENCE) / 2
EXACT_TO = 100  # values; beyond, the signed-rank sum is normally distributed for every purpose here


class Location(NamedTuple):
    estimate: float
    low: float
    high: float


@lru_cache(maxsize=4096)  # one pair appears in many tables
def hodges_lehmann(values: tuple[float, ...]) -> Location:
    """The median of the Walsh averages, and its interval: the whole range for fewer than six values."""
    array = np.asarray(values, dtype=float)
    rows, columns = np.triu_indices(len(array))
    walsh = np.sort((array[rows] + array[columns]) / 2)
    below, share = _signed_rank_cut(len(array))
    return Location(float(np.median(walsh)), *_between(walsh, below, share))


def median(values: Sequence[float]) -> Location:
    """The median and its interval: the whole range for fewer than six values."""
    array = np.sort(np.asarray(values, dtype=float))
    below, share = _sign_cut(len(array))
    return Location(float(np.median(array)), *_between(array, below, share))


def _between(ordered: NDArray[np.float64], below: int, share: float) -> tuple[float, float]:
    """Bounds with `below` values outside, moved inwards by `share` of the distance to their neighbours."""
    inner = min(below + 1, len(ordered) - 1)
    low = ordered[below] + share * (ordered[inner] - ordered[below])
    high = ordered[-1 - below] + share * (ordered[-1 - inner] - ordered[-1 - below])
    # No bound passes its neighbour, and so the estimate, by rounding.
    return float(min(low, ordered[inner])), float(max(high, ordered[-1 - inner]))


@lru_cache
def _signed_rank_cut(count: int) -> tuple[int, float]:
    """The number of Walsh averages outside a bound, and the share by which the bound moves inwards."""
    if count > EXACT_TO:
        mean, deviation = count * (count + 1) / 4, np.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return int(mean + NormalDist().inv_cdf(TAIL) * deviation), 0.0
    probability = np.zeros(count * (count + 1) // 2 + 1)  # of each sum of the ranks with a positive sign
    probability[0] = 1.0
    for rank in range(1, count + 1):
        with_it = np.zeros_like(probability)
        with_it[rank:] = probability[:-rank]
        probability = (probability + with_it) / 2
    # errors[k]: probability that the true value lies beyond a bound with k averages outside
    errors = np.cumsum(probability)
    below = int(np.searchsorted(errors, TAIL, side="right")) - 1
    if below < 0:
        return 0, 0.0
    return below, float((TAIL - errors[below]) / (errors[below + 1] - errors[below]))


@lru_cache
def _sign_cut(count: int) -> tuple[int, float]:
    """The number of values outside a bound, and the share by which the bound moves inwards."""
    below = next(k for k, error in enumerate(_sign_errors(count)) if error >= TAIL) - 1
    if below < 0:
        return 0, 0.0
    wide, narrow = (1 - 2 * error for error in islice(_sign_errors(count), below, below + 2))
    share = (wide - CONFIDENCE) / (wide - narrow)
    place = below + 1
    return below, float((count - place) * share / (place + (count - 2 * place) * share))


def _sign_errors(count: int) -> Iterator[float]:
    """The probability that the median lies beyond a bound with k of the values outside, for k from 0 on."""
    ways, total = 1, 0  # to choose k of the values, and k or fewer
    for k in range(count + 1):
        total += ways
        yield total / 2**count
        ways = ways * (count - k) // (k + 1)
