"""Fits ACDC's parameters to a recording."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from heaplab.twins.acdc_parameters import Parameters
from heaplab.twins.lives import Array, Lives, bursts, in_order, ticks_of
from heaplab.twins.survival import survival

MOST_LIVENESS = 64  # ticks: an object count grows with the square
PARTS = 4  # of a tick, in which lifetimes are counted
QUANTA = 6  # doublings of the quantum that are tried
BETTER = 0.02  # what a model must gain to be preferred to a simpler one
LEAST_OCTAVE = 3  # of sizes: ACDC's objects have 8 B at least
ENOUGH = 0.1  # share of the blocks that die in the thread of their birth
LEAST_OF_BATCH = 3  # objects: fewer die in the order of their births from a tree, too


class Ages(NamedTuple):
    """How many ticks objects live, and how far that is from the recording (Kolmogorov and Smirnov)."""

    apart: float
    quantum: float  # B of a thread
    shortest: int
    longest: int
    stays: float  # share of the blocks


class Sizes(NamedTuple):
    apart: float
    least: int
    most: int


def fit(lives: Lives) -> Parameters:
    """Precondition: there are blocks."""
    threads = active_threads(lives)
    burst = bursts(lives)
    batch = batches(lives, burst)
    counts, orders = in_order(lives, batch)
    quantum = quantum_of(lives, burst)
    own = freed_at_home(lives)
    life, has_died = own_life(lives)[own], lives.has_died[own]
    by_formula, alike = (
        (sizes_of(lives.size, power), ages_of(life, has_died, quantum, power)) for power in (2, 0)
    )
    fixed = sum(each.apart for each in alike) + BETTER < sum(each.apart for each in by_formula)
    sizes, ages = alike if fixed else by_formula
    some = counts >= LEAST_OF_BATCH
    remote = lives.is_remote[lives.has_died]
    parameters = Parameters(
        threads=threads,
        min_size=sizes.least,
        max_size=sizes.most,
        min_liveness=ages.shortest,
        max_liveness=ages.longest,
        time_quantum=max(int(ages.quantum), 1),
        ticks=1,
        class_objects=int(np.median(np.repeat(counts, counts))) if fixed and len(counts) else 0,
        list_ratio=round(100 * float((orders[some] == 1).mean()), 1) if some.any() else 100.0,
        shared_objects_ratio=round(100 * float(remote.mean()), 1) if threads > 1 and len(remote) else 0.0,
        permanent_objects_ratio=round(100 * ages.stays, 2),
    )
    # A tick ends with the class that exceeds the quantum, and has no less than a class.
    mean, exceeds = parameters.class_bytes()
    return replace(
        parameters,
        time_quantum=max(int(ages.quantum - exceeds), 1),
        ticks=max(round(lives.clock / threads / max(ages.quantum, mean)), 2 * ages.longest + 1),
    )


def active_threads(lives: Lives) -> int:
    """The number of equal threads that births are as mixed among as among the recorded ones."""
    shares = np.unique(lives.thread, return_counts=True)[1] / len(lives)
    return round(float(np.exp(-(shares * np.log(shares)).sum())))


def batches(lives: Lives, burst: Array) -> Array:
    """For each block the number of its batch, -1 where it did not die: births of a thread one after another,
    of equal size, that die in one burst."""
    order = np.argsort(lives.thread, kind="stable")
    keys = np.stack([lives.thread, lives.size, burst])[:, order]
    begins = np.ones(len(lives), dtype=bool)
    begins[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    batch = np.empty(len(lives), dtype=np.int64)
    batch[order] = np.cumsum(begins)
    batch[burst < 0] = -1
    return np.where(batch >= 0, np.unique(batch, return_inverse=True)[1] - (burst < 0).any(), -1)


def freed_at_home(lives: Lives) -> Array:
    """Marks the blocks whose lives count: what another thread frees waits for that thread's clock."""
    own = ~lives.is_remote
    return own if (own & lives.has_died).mean() >= ENOUGH else np.ones(len(lives), dtype=bool)


def own_life(lives: Lives) -> Array:
    """The bytes that the thread of a block's birth allocates until its death: threads advance unevenly."""
    life = np.empty(len(lives), dtype=np.int64)
    for thread in np.unique(lives.thread):
        own = np.flatnonzero(lives.thread == thread)
        life[own] = own_clock(lives, own, lives.died[own]) - np.cumsum(ticks_of(lives.size[own]))
    return np.maximum(life, 0)


def own_clock(lives: Lives, own: Array, at: Array) -> Array:
    """The bytes of the blocks numbered `own` that are born before these times."""
    clock = np.concatenate(([0], np.cumsum(ticks_of(lives.size[own]))))
    return clock[np.searchsorted(lives.born[own], at, side="left")]


def quantum_of(lives: Lives, burst: Array) -> float:
    """The bytes that a thread allocates between two of its bursts; each counts by its blocks."""
    dead = np.flatnonzero(burst >= 0)
    if not len(dead):
        return float(lives.clock)
    number, first, blocks = np.unique(burst[dead], return_index=True, return_counts=True)
    at, by = lives.died[dead[first]], lives.freed_by[dead[first]]
    gaps = np.zeros(len(number))
    for thread in np.unique(by):
        mine = np.flatnonzero(by == thread)
        gaps[mine] = np.diff(own_clock(lives, np.flatnonzero(lives.thread == thread), at[mine]), prepend=0)
    order = np.argsort(gaps, kind="stable")
    weights = np.cumsum(blocks[order])
    return max(float(gaps[order][np.searchsorted(weights, weights[-1] / 2)]), 1.0)


def ages_of(life: Array, has_died: Array, quantum: float, power: int) -> Ages:
    """The best shortest and longest liveness. `power`: of the number of objects (Parameters.objects)."""
    longest = float(np.quantile(life[has_died], 0.99)) if has_died.any() else quantum
    begin = int(np.ceil(np.log2(max(longest / MOST_LIVENESS / quantum, 1.0))))
    tried = [ages_with(life, has_died, quantum * 2.0**step, power) for step in range(begin, begin + QUANTA)]
    best = min(each.apart for each in tried)
    return next(each for each in tried if each.apart <= best + BETTER)


def ages_with(life: Array, has_died: Array, quantum: float, power: int) -> Ages:
    parts = np.minimum(life * PARTS / quantum, MOST_LIVENESS * PARTS + 1).astype(np.int64)
    counts = [
        np.bincount(parts[which], minlength=MOST_LIVENESS * PARTS + 2) for which in (has_died, ~has_died)
    ]
    recorded = survival(*counts)
    dies = np.cumsum(recorded.dies)[:-1] / max(recorded.dies.sum(), 1e-9)
    ends = (np.arange(len(dies)) + 1) / PARTS
    # Row k: the share of objects of liveness k + 1 that have died, if births are spread evenly over a tick.
    of_liveness = np.clip(ends - np.arange(MOST_LIVENESS)[:, None], 0, 1)
    best = Ages(2.0, quantum, 1, 1, recorded.stays)
    for longest in range(1, MOST_LIVENESS + 1):
        weights = (longest - np.arange(longest)).astype(float) ** power
        # All shortest livenesses at once: sums from the row of the shortest to that of the longest.
        sums = np.cumsum((weights[:, None] * of_liveness[:longest])[::-1], axis=0)[::-1]
        totals = np.cumsum(weights[::-1])[::-1]
        apart = np.abs(sums / totals[:, None] - dies).max(axis=1)
        shortest = int(np.argmin(apart))
        if apart[shortest] < best.apart:
            best = best._replace(apart=float(apart[shortest]), shortest=shortest + 1, longest=longest)
    return best


def sizes_of(size: Array, power: int) -> Sizes:
    """The best range of sizes: powers of two, none beyond the largest block, or one size."""
    values, blocks = np.unique(np.maximum(size, 8), return_counts=True)
    shares = np.cumsum(blocks) / blocks.sum()
    below = np.append(0, shares[:-1])
    frequent = int(np.argmax(blocks))
    only = int(values[frequent])
    best = Sizes(float(max(below[frequent], 1 - shares[frequent])), only, only)
    most = max(int(values[-1] - 1).bit_length(), LEAST_OCTAVE + 1)
    for first in range(LEAST_OCTAVE, most):
        for last in range(first + 1, most + 1):
            weights = (last - np.arange(first, last) + 1.0) ** power
            octaves = np.arange(first, last + 1)
            model = np.append(0, np.cumsum(weights) / weights.sum())
            apart = max(
                float(np.abs(np.interp(values + shift, 2.0**octaves, model) - dead).max())
                for shift, dead in ((1, shares), (0, below))
            )
            if apart < best.apart:
                best = Sizes(apart, 1 << first, 1 << last)
    return best
