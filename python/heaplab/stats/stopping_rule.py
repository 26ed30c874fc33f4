"""When to stop repeating: at a precision, never at a verdict.

A campaign that stopped as soon as a difference appears would find differences that do not exist. The width of
the intervals depends only on the spread. The numbers of blocks after which to look must be fixed beforehand.
"""

from collections.abc import Iterable, Sequence

from heaplab.stats.ratios import compare

PRECISION = 0.02  # half the interval's width, relative


def precise_enough(
    base: Sequence[float], others: Iterable[Sequence[float]], precision: float = PRECISION
) -> bool:
    """Whether every ratio to the baseline is known to +-`precision`. All lists are in the order of blocks."""
    return all(compare(base, other).half_width <= precision for other in others)
