"""Reductions of long point lists for drawing."""

from collections.abc import Sequence
from math import log10

Point = tuple[float, float]


def thin(points: Sequence[Point], most: int = 2000) -> list[Point]:
    """At most `most` points in order: the lowest and highest of each stretch, so that peaks survive."""
    if most < 4:
        raise ValueError(f"cannot thin to {most} points")
    if len(points) <= most:
        return list(points)
    kept: list[Point] = [points[0]]
    stretches = (most - 2) // 2
    inner = points[1:-1]
    for stretch in range(stretches):
        part = range(stretch * len(inner) // stretches, (stretch + 1) * len(inner) // stretches)
        ends = {min(part, key=lambda i: inner[i][1]), max(part, key=lambda i: inner[i][1])}
        kept += [inner[i] for i in sorted(ends)]
    return [*kept, points[-1]]


def nines(fraction: float) -> float:
    """The position of a percentile on an axis on which each further nine has equal room: 0.99 -> 2."""
    if not 0 <= fraction < 1:
        raise ValueError(f"a fraction below which values lie is in 0..1, not {fraction}")
    return -log10(1 - fraction)
