"""Lifetimes where some blocks live to the end: the estimate of Kaplan and Meier."""

from dataclasses import dataclass

import numpy as np

from heaplab.twins.lives import Array, Lives

STEPS = 8  # classes of lifetimes to a factor of two, where distributions are compared


@dataclass(frozen=True)
class Survival:
    """The share of blocks that die within each class of lifetimes; the rest outlives all classes seen."""

    dies: Array

    @property
    def stays(self) -> float:
        return float(max(1 - self.dies.sum(), 0.0))


def survival(died: Array, left: Array) -> Survival:
    """Of blocks by class of lifetimes: those that died in it, and those that were that old at the end."""
    both = died + left
    at_risk = np.cumsum(both[::-1])[::-1]
    hazard = died / np.maximum(at_risk, 1)
    lives = np.cumprod(1 - hazard)
    return Survival(np.concatenate(([1.0], lives[:-1])) * hazard)


def life_class(life: Array, steps: int) -> Array:
    """0: the block died before the next birth; then `steps` classes to a factor of two."""
    return np.where(life < 1, 0, 1 + np.floor(steps * np.log2(np.maximum(life, 1)) + 1e-9)).astype(np.int64)


def of_lives(lives: Lives, classes: int) -> Survival:
    """The lifetimes of all blocks in so many fine classes."""
    which = np.minimum(life_class(lives.life, STEPS), classes - 1)
    has_died = lives.has_died
    counts = [np.bincount(which[mask], minlength=classes) for mask in (has_died, ~has_died)]
    return survival(*counts)
