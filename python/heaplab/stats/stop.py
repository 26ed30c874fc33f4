"""When to stop repeating: looks at blocks fixed in advance, and a precision, never a verdict.

Stopping when a difference appears would find differences that are not there. Stopping when the interval
is narrow enough looks only at the spread.
"""

from collections.abc import Iterable, Sequence

from heaplab.stats.bootstrap import compare

PRECISION = 0.02  # half the interval's width, relative
GROWTH = 1.5


def look_schedule(least: int, most: int) -> tuple[int, ...]:
    """The numbers of complete blocks after which to look: (5, 15) -> 5, 8, 12, 15. Raises ValueError."""
    if not 1 <= least <= most:
        raise ValueError(f"blocks: at least {least}, at most {most}")
    looks = [least]
    while looks[-1] < most:
        looks.append(min(most, max(looks[-1] + 1, round(looks[-1] * GROWTH))))
    return tuple(looks)


def precise_enough(
    base: Sequence[float], others: Iterable[Sequence[float]], precision: float = PRECISION
) -> bool:
    """Whether every ratio to the baseline is known to +-`precision`. All lists are in order of blocks."""
    return all(compare(base, other).half_width <= precision for other in others)
