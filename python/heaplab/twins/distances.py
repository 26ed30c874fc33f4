"""How far the lives of one set of blocks are from those of another."""

import numpy as np

from heaplab.twins.lives import GATHERED, Array, Lives, burst_sizes, bursts
from heaplab.twins.survival import STEPS, life_class, of_lives
from heaplab.twins.twin_file import Errors

POINTS = 200  # of the curve of live bytes, after its first ones
SMALLEST = 0.01  # of the peak: where less is live, a relative error says nothing and is left out


def errors(twin: Lives, recorded: Lives) -> Errors:
    """Precondition: both have blocks. Times are shares of the clock of each."""
    sizes = [np.log2(np.maximum(lives.size, 1)) for lives in (twin, recorded)]
    size_ks, size_octaves = of_samples(*sizes)
    classes = max(int(life_class(lives.life, STEPS).max()) for lives in (twin, recorded)) + 1
    curves = [np.cumsum(of_lives(lives, classes).dies) for lives in (twin, recorded)]
    apart = np.abs(curves[0] - curves[1])
    live = [lives.at(np.linspace(0, lives.clock, POINTS + 1)[1:]) for lives in (twin, recorded)]
    curve, peak = of_curves(*live)
    return Errors(
        size_ks=round(size_ks, 4),
        size_octaves=round(size_octaves, 4),
        life_ks=round(float(apart.max()), 4),
        life_octaves=round(float(apart.sum()) / STEPS, 4),
        live_curve=round(curve, 4),
        peak=round(peak, 4),
        remote=round(float(twin.is_remote.mean() - recorded.is_remote.mean()), 4),
        gathered=round(gathered(twin) - gathered(recorded), 4),
    )


def gathered(lives: Lives) -> float:
    return float((burst_sizes(bursts(lives)) >= GATHERED).mean())


def of_samples(twin: Array, recorded: Array) -> tuple[float, float]:
    """The distances of Kolmogorov and Smirnov, and of Wasserstein."""
    places = np.unique(np.concatenate((twin, recorded)))
    shares = [np.searchsorted(np.sort(each), places, side="right") / len(each) for each in (twin, recorded)]
    apart = np.abs(shares[0] - shares[1])
    return float(apart.max()), float((apart[:-1] * np.diff(places)).sum())


def of_curves(twin: Array, recorded: Array) -> tuple[float, float]:
    """The median of the relative errors, and the relative error of the peak."""
    peak = max(float(recorded.max()), 1.0)
    some = recorded >= SMALLEST * peak
    relative = np.abs(twin[some] - recorded[some]) / np.maximum(recorded[some], 1)
    return float(np.median(relative)) if some.any() else 0.0, float(twin.max() / peak - 1)
