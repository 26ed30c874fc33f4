"""How far several rankings of the same things agree: Kendall's coefficient of concordance (1939)."""

from collections.abc import Mapping, Sequence
from math import nan


def concordance(rankings: Sequence[Sequence[str]]) -> float:
    """Kendall's W: 1 if all rankings are equal, near 0 if they have nothing in common.

    Not a number for fewer than two rankings, or of fewer than two things. All rank the same things.
    """
    if len(rankings) < 2 or len(rankings[0]) < 2:
        return nan
    things, judges = len(rankings[0]), len(rankings)
    sums = dict.fromkeys(rankings[0], 0)
    for ranking in rankings:
        for place, thing in enumerate(ranking):
            sums[thing] += place
    mean = judges * (things - 1) / 2
    spread = sum((total - mean) ** 2 for total in sums.values())
    return 12 * spread / (judges**2 * (things**3 - things))


def ranked(values: Mapping[str, float]) -> list[str]:
    """The names, the lowest value first; equal values by name."""
    return sorted(values, key=lambda name: (values[name], name))
