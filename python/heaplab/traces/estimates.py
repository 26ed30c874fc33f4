"""Intervals of estimates from samples.

An estimate is a sum of weighted Poisson counts. Its interval is that of Fay and Feuer (1997), which for
equal weights is Garwood's of a Poisson count: the total counts as so many samples of equal weight as have its
relative variance, and at its upper end as if one more sample had come. Quantiles of the gamma distribution
are Byar's approximation, which is within one part in two hundred from one sample on.
"""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from heaplab.stats.interval import CONFIDENCE
from heaplab.text import units
from heaplab.traces.sample_file import Head, PinnedSum, SampleSum

Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Estimate:
    """A value and the bounds of its interval, of the level CONFIDENCE."""

    value: float
    low: float
    high: float

    def text(self, unit: str) -> str:
        if self.value == self.low == self.high:
            return units.show(self.value, unit)
        return (
            f"{units.show(self.value, unit)} ({units.show(self.low, unit)} to {units.show(self.high, unit)})"
        )


def of_bytes(amount: SampleSum, mean: float) -> Estimate:
    """`mean` is the distance of samples: what an unseen sample of small blocks would have added."""
    return estimate(amount.bytes, amount.bytes_variance, mean)


def of_blocks(amount: SampleSum, mean: float) -> Estimate:
    size = amount.bytes / amount.blocks if amount.blocks else 0.0
    return estimate(amount.blocks, amount.blocks_variance, max(1.0, mean / max(size, 1.0)))


def of_pinned(amount: PinnedSum, head: Head) -> Estimate:
    """Unused bytes of pages that hold live blocks."""
    period = head.page_period
    if period == 1:
        return Estimate(amount.bytes, amount.bytes, amount.bytes)
    variance = amount.squares * period * (period - 1)
    return estimate(amount.bytes * period, variance, head.page_bytes * period)


def estimate(total: float, variance: float, unseen: float) -> Estimate:
    low = _limit(total, variance, -Z) if total and variance else total
    return Estimate(total, low, _limit(total + unseen, variance + unseen**2, Z))


def difference(old: SampleSum, new: SampleSum, mean: float) -> Estimate:
    """Of bytes: new - old. Both variances count, though blocks that both hold differ in nothing."""
    first, last = of_bytes(old, mean), of_bytes(new, mean)
    value = last.value - first.value
    return Estimate(
        value,
        value - sqrt((last.value - last.low) ** 2 + (first.high - first.value) ** 2),
        value + sqrt((last.high - last.value) ** 2 + (first.value - first.low) ** 2),
    )


def _limit(total: float, variance: float, z: float) -> float:
    count = total**2 / variance
    return float(total * max(0.0, 1 - 1 / (9 * count) + z / (3 * sqrt(count))) ** 3)
