"""What a sentence demands of its ratios: regions, and whether an interval lies in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isnan, log
from typing import Any

from heaplab.stats import THRESHOLD, Interval


class ClaimResult(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"
    UNTESTED = "cannot be decided here"  # what it speaks of was not measured


# One result of several decides: a sentence holds if all do.
WORST_FIRST = (ClaimResult.FAILS, ClaimResult.UNTESTED, ClaimResult.OPEN, ClaimResult.HOLDS)


def worst(results: set[ClaimResult]) -> ClaimResult:
    return next((result for result in WORST_FIRST if result in results), ClaimResult.UNTESTED)


@dataclass(frozen=True)
class Bounds:
    """The ratios that a sentence allows."""

    low: float = 0.0
    high: float = inf

    def result(self, ratio: Interval) -> ClaimResult:
        if isnan(ratio.estimate):
            return ClaimResult.UNTESTED
        if self.low <= ratio.low and ratio.high <= self.high:
            return ClaimResult.HOLDS
        outside = ratio.high < self.low or ratio.low > self.high
        return ClaimResult.FAILS if outside else ClaimResult.OPEN

    def text(self) -> str:
        """ "3 to 5", "at most 0.97"."""
        if self.high == inf:
            return f"at least {self.low:.3g}"
        return f"{self.low:.3g} to {self.high:.3g}" if self.low else f"at most {self.high:.3g}"


def around(stated: list[float]) -> Bounds:
    """The amounts that count as the stated ones: a change of a ratio within a third of the stated change.

    "About four" is 3 to 5, "25 % more" is 1.17 to 1.33. What takes a tenth is ten times as fast: 1/13 to 1/7.
    """
    widened = [(_change(amount, -1 / 3), _change(amount, 1 / 3)) for amount in stated]
    ends = [end for pair in widened for end in pair]
    return Bounds(min(ends), max(ends))


def towards(stated: list[float]) -> Bounds:
    """The side of 1 on which the stated amounts lie, beyond the threshold or a third of a smaller change."""
    nearest = min(stated, key=lambda amount: abs(log(amount)))
    third = _change(nearest, -2 / 3)
    if nearest > 1:
        return Bounds(low=min(1 + THRESHOLD, third))
    return Bounds(high=max(1 / (1 + THRESHOLD), third))


def _change(ratio: float, by: float) -> float:
    """The ratio whose distance from 1 is larger by the share `by`."""
    return 1 + (ratio - 1) * (1 + by) if ratio >= 1 else 1 / _change(1 / ratio, by)


DIRECTION, AMOUNT = "direction", "amount"


@dataclass(frozen=True)
class Numbers:
    """The numbers of an expectation, and whether higher values of its metric are better."""

    arguments: Mapping[str, Any]
    higher_is_better: bool = False

    def number(self, name: str, otherwise: float) -> float:
        return float(self.arguments.get(name, otherwise))

    @property
    def amount(self) -> list[float]:
        stated = self.arguments.get("amount", [])
        return [float(number) for number in stated] if isinstance(stated, list) else [float(stated)]

    @property
    def better(self) -> Bounds:
        by = self.number("by", THRESHOLD)
        return Bounds(low=1 + by) if self.higher_is_better else Bounds(high=1 / (1 + by))

    @property
    def bounds(self) -> Bounds:
        """The given bounds; without any, the side of 1 on which a stated amount lies."""
        if self.amount and not self.arguments.keys() & {"low", "high"}:
            return towards(self.amount)
        return Bounds(self.number("low", 0.0), self.number("high", inf))

    @property
    def factor(self) -> float:
        return self.number("factor", 1 + THRESHOLD)

    @property
    def rising(self) -> Bounds:
        return Bounds(low=self.factor)

    @property
    def falling(self) -> Bounds:
        return Bounds(high=1 / self.factor)

    @property
    def flat(self) -> Bounds:
        return Bounds(1 / self.factor, self.factor)
