"""When to stop repeating: at a precision, never at a verdict.

Stopping when a difference appears would find differences that are not there; the width of the intervals
tells only about the spread. The numbers of blocks after which to look must be fixed in advance.
"""

from collections.abc import Iterable, Sequence

from heaplab.stats.ratios import compare

PRECISION = 0.02  # half the interval's width, relative


def precise_enough(
    base: Sequence[float], others: Iterable[Sequence[float]], precision: float = PRECISION
) -> bool:
    """Whether every ratio to the baseline is known to +-`precision`. All lists are in order of blocks."""
    return all(compare(base, other).half_width <= precision for other in others)
