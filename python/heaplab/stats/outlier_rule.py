"""Outliers: values far from the median. Outliers are shown, never removed (Iglewicz and Hoaglin 1993)."""

from collections.abc import Sequence

import numpy as np

LIMIT = 14.826  # median absolute deviations: ten standard deviations of a normal distribution
SMALLEST_SPREAD = 0.001  # of the median: nearly exact repetitions make no deviation remarkable


def outliers(values: Sequence[float]) -> list[int]:
    """The positions of the values that lie further than LIMIT median absolute deviations from the median."""
    array = np.asarray(values, dtype=float)
    if len(array) < 3:
        return []
    distance = np.abs(array - np.median(array))
    spread = max(np.median(distance), SMALLEST_SPREAD * abs(np.median(array)))
    return [int(position) for position in np.flatnonzero(distance > LIMIT * spread)]
