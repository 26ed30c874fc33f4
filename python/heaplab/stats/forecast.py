"""How many more blocks a verdict takes, and where the variation between runs comes from.

Both are forecasts from the present runs. A forecast assumes that the estimate stays and that further blocks
vary as those measured.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, expm1, inf, isnan, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from heaplab.stats import student
from heaplab.stats.interval import CONFIDENCE, FEWEST_PAIRS, Interval
from heaplab.stats.verdict import FAMILY_ERROR, THRESHOLD, Judged, Verdict, noise_floor

MOST = 1000.0  # times the present number of blocks: more is never worth waiting for
STEP = 1.02  # between two numbers of blocks that are tried
FEWEST_BLOCKS = 3  # to tell blocks, drift and runs apart


def times_the_blocks(judged: Judged, family: int) -> float:
    """How many times the present blocks a verdict takes: 1 if there is one, infinity beyond MOST.

    The standard errors behind the intervals of ratio and control shrink with the square root of the blocks.
    The ratio's interval has to be narrow enough for the smallest share of the error that Holm's procedure may
    leave to one of `family` comparisons, and for its own level. Infinity also for a ratio that has no
    interval yet.
    """
    if judged.verdict is not Verdict.UNDECIDED:
        return 1.0
    ratio, control = judged.ratio, judged.control
    if not ratio.bounded or noise_floor(control) == inf:
        return inf
    size, edge = abs(log(ratio.estimate)), log1p(THRESHOLD)
    freedom = max(ratio.count - 1, 1)
    error = ratio.half_width / student.quantile(freedom, (1 - CONFIDENCE) / 2)
    share = min(1 - CONFIDENCE, FAMILY_ERROR / max(family, 1)) / 2

    def suffices(steps: int) -> bool:
        factor = STEP**steps
        floor = log1p(noise_floor(narrowed(control, factor)))
        distance = edge - size if max(size, floor) <= edge else size - max(edge, floor)
        return error / sqrt(factor) * student.quantile(factor * freedom, share) <= distance

    tried = range(int(log(MOST) / log(STEP)) + 1)  # more blocks never suffice less
    steps = bisect_left(tried, True, key=suffices)
    return STEP**steps if steps in tried else inf


def narrowed(interval: Interval, factor: float) -> Interval:
    """The interval after `factor` times the blocks, if its estimate stays."""
    if isnan(interval.estimate):
        return interval
    low, high = ((bound / interval.estimate) ** (1 / sqrt(factor)) for bound in (interval.low, interval.high))
    return Interval(interval.estimate, interval.estimate * low, interval.estimate * high, interval.count)


def more_blocks(judged: Judged, family: int, blocks: int) -> float:
    """The number of blocks that a verdict takes beyond the present ones; infinity if that is too many."""
    factor = times_the_blocks(judged, family)
    return factor if factor == inf else ceil((factor - 1) * blocks)


def half_width_after(blocks: int, deviation: float) -> float:
    """The half-width of a ratio's interval after so many blocks whose runs deviate so much by themselves."""
    error = deviation * sqrt(2 / blocks)
    return expm1(error * student.quantile(blocks - 1, (1 - CONFIDENCE) / 2))


def blocks_for(precision: float, deviation: float) -> int:
    """The number of blocks after which the half-width is the precision, at most MOST times the fewest."""
    tried = range(FEWEST_PAIRS, int(MOST) * FEWEST_PAIRS)
    return tried[
        min(
            bisect_left(tried, True, key=lambda n: half_width_after(n, deviation) <= precision),
            len(tried) - 1,
        )
    ]


@dataclass(frozen=True)
class Noise:
    """Shares of the variance of the logarithms of times; they add up to 1, or to 0 without variation."""

    runs: float  # from run to run of a block: what no pairing removes
    foreign: float  # the part from run to run that goes with the CPU time of other processes
    blocks: float  # from block to block, common to the runs of a block: cancels in pairs
    drift: float  # the part from block to block that grows or shrinks all the time: cancels in pairs
    deviation: float  # standard deviation from run to run, of the logarithm


def noise(values: Sequence[Sequence[float]], foreign: Sequence[Sequence[float]]) -> Noise | None:
    """The sources of the variation in one cell; None for fewer than FEWEST_BLOCKS blocks or two candidates.

    `values` has a row for each block, in the order of time, and a column for each candidate; `foreign` has
    the share of CPU time that others used in the same runs.
    """
    array = np.log(np.asarray(values, dtype=float))
    if array.ndim != 2 or array.shape[0] < FEWEST_BLOCKS or array.shape[1] < 2:
        return None
    blocks, candidates = array.shape
    centred = array - array.mean(axis=0)
    level = centred.mean(axis=1)
    rest = centred - level[:, None]
    within = float((rest**2).sum()) / ((blocks - 1) * (candidates - 1))
    between = max(0.0, float((level**2).sum()) / (blocks - 1) - within / candidates)
    drift = between * _explained(np.arange(blocks, dtype=float), level)
    load = np.asarray(foreign, dtype=float)
    load = load - load.mean(axis=0) - (load - load.mean(axis=0)).mean(axis=1)[:, None]
    by_others = within * _explained(load.ravel(), rest.ravel(), slower=True)
    total = within + between
    if total <= 0:
        return Noise(0, 0, 0, 0, 0)
    return Noise(
        runs=(within - by_others) / total,
        foreign=by_others / total,
        blocks=(between - drift) / total,
        drift=drift / total,
        deviation=sqrt(within),
    )


def _explained(cause: NDArray[np.float64], effect: NDArray[np.float64], *, slower: bool = False) -> float:
    """The share of the variance of the effect that a straight line explains, less what chance explains.

    With `slower`, only a line that rises counts.
    """
    if cause.std() == 0 or effect.std() == 0:
        return 0.0
    correlation = float(np.corrcoef(cause, effect)[0, 1])
    if slower and correlation < 0:
        return 0.0
    return max(0.0, 1 - (1 - correlation**2) * (len(cause) - 1) / (len(cause) - 2))
