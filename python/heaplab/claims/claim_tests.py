"""The kinds of tests: from an expectation's arguments to ratios and the regions they must lie in."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isnan
from typing import Any

from heaplab import stats
from heaplab.analysis import MeasuredCell, Study
from heaplab.records import Parameter
from heaplab.stats import THRESHOLD, Interval, Pair


class ClaimResult(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"
    UNTESTED = "cannot be decided here"  # what it speaks of was not measured


@dataclass(frozen=True)
class Finding:
    """One ratio and the region it must lie in."""

    name: str
    ratio: Interval
    low: float
    high: float

    @property
    def result(self) -> ClaimResult:
        if isnan(self.ratio.estimate):
            return ClaimResult.UNTESTED
        if self.low <= self.ratio.low and self.ratio.high <= self.high:
            return ClaimResult.HOLDS
        outside = self.ratio.high < self.low or self.ratio.low > self.high
        return ClaimResult.FAILS if outside else ClaimResult.OPEN

    def text(self) -> str:
        if isnan(self.ratio.estimate):
            return f"{self.name} has cells without a figure"
        span = f" ({self.ratio.low:.2f}–{self.ratio.high:.2f})" if self.ratio.bounded else " (no interval)"
        return f"{self.name} {self.ratio.estimate:.2f}×{span}"


@dataclass(frozen=True)
class Claim:
    """An expectation with its arguments resolved against a study."""

    study: Study
    metric: str
    candidates: list[str]
    arguments: dict[str, Any]
    cells: list[MeasuredCell]

    @property
    def reference(self) -> str:
        return str(self.arguments.get("than", self.study.baseline))

    @property
    def bounds(self) -> tuple[float, float]:
        return self.number("low", 0.0), self.number("high", inf)

    @property
    def better(self) -> tuple[float, float]:
        """The region of ratios that count as better."""
        by = self.number("by", THRESHOLD)
        return (1 + by, inf) if self.study.metric(self.metric).better == "higher" else (0.0, 1 / (1 + by))

    def values_along(self) -> list[Parameter]:
        """The values of the followed axis, in order.

        With more threads than CPUs, threads take turns: a trend therefore ends at the number of CPUs, if two
        values are left.
        """
        name = self.arguments["along"]
        beyond = {dict(cell)[name] for cell in self.study.cells if self.study.oversubscribed(cell)}
        values = list(self.study.axes[name])
        within = [value for value in values if value not in beyond] if name == "threads" else values
        return within if len(within) > 1 else values

    @property
    def factor(self) -> float:
        return self.number("factor", 1 + THRESHOLD)

    def number(self, name: str, otherwise: float) -> float:
        return float(self.arguments.get(name, otherwise))

    def ratio(self, pairs: list[tuple[Pair, MeasuredCell]]) -> Interval:
        """The mean ratio. Not a number if a cell has no values, because the sentence is about all cells."""
        return stats.geometric_mean([[(pair, self.study.key(cell)) for pair, cell in pairs]])

    def between(self, candidate: str, than: str) -> Interval:
        """Geometric mean over the cells of candidate / than."""
        return self.ratio([(self.study.pair(c, than, candidate, self.metric), c) for c in self.cells])

    def along(self, candidate: str, first: Parameter, last: Parameter) -> Interval:
        """Geometric mean over the cells of the ratio of the last value to the first, all else equal."""
        return self.ratio(
            [
                (self.study.across(cell, candidate, self.metric, {self.arguments["along"]: first}), cell)
                for cell in self.cells_at(first, last)
            ]
        )

    def cells_at(self, first: Parameter, last: Parameter) -> list[MeasuredCell]:
        """The cells with the first value of the parameter, each changed to the last value."""
        name = self.arguments["along"]
        return [self.study.changed(cell, {name: last}) for cell in self.cells if dict(cell)[name] == first]


def _ratios(claim: Claim, low: float, high: float) -> list[Finding]:
    than = claim.reference
    names = [name for name in claim.candidates if name != than]
    return [Finding(f"{name} / {than}", claim.between(name, than), low, high) for name in names]


def _mean_within(claim: Claim) -> list[Finding]:
    than = claim.arguments.get("than", claim.study.baseline)
    others = [str(name) for name in than] if isinstance(than, list) else [than] * len(claim.candidates)
    pairs = list(zip(claim.candidates, others, strict=True))
    ratio = claim.ratio([(claim.study.pair(c, b, a, claim.metric), c) for a, b in pairs for c in claim.cells])
    return [Finding(f"mean of {', '.join(f'{a} / {b}' for a, b in pairs)}:", ratio, *claim.bounds)]


def _order(claim: Claim) -> list[Finding]:
    neighbours = zip(claim.candidates, claim.candidates[1:], strict=False)
    return [Finding(f"{a} / {b}", claim.between(a, b), *claim.better) for a, b in neighbours]


def _trend(claim: Claim, low: float, high: float) -> list[Finding]:
    values = claim.values_along()
    where = f"{claim.arguments['along']} {values[-1]} / {values[0]}"
    return [
        Finding(f"{name}, {where}:", claim.along(name, values[0], values[-1]), low, high)
        for name in claim.candidates
    ]


def _value_within(claim: Claim) -> list[Finding]:
    first, last = claim.arguments["than"], claim.arguments["value"]
    return [
        Finding(f"{name}, {last} / {first}:", claim.along(name, first, last), *claim.bounds)
        for name in claim.candidates
    ]


def _gain_within(claim: Claim) -> list[Finding]:
    along, first, value = (claim.arguments[name] for name in ("along", "than", "value"))
    lasts = value if isinstance(value, list) else [value]
    names = [name for name in claim.candidates if name != claim.study.baseline]
    ratio = claim.ratio(
        [
            (claim.study.quotient(cell, name, claim.metric, {along: first}), cell)
            for name in names
            for last in lasts
            for cell in claim.cells_at(first, last)
        ]
    )
    where = f"{along} {', '.join(map(str, lasts))} / {first}"
    return [Finding(f"{', '.join(names)} to {claim.study.baseline}, {where}:", ratio, *claim.bounds)]


@dataclass(frozen=True)
class ClaimTest:
    """A kind of test. `allocator` stands for whatever the experiment compares."""

    run: Callable[[Claim], list[Finding]]
    needs: frozenset[str]
    takes: frozenset[str]


NAMED, BOUNDS = frozenset({"allocator"}), frozenset({"low", "high"})
ALONG, CHANGE = frozenset({"along"}), frozenset({"along", "value", "than"})
FACTOR = frozenset({"factor"})
NUMBERS = BOUNDS | FACTOR | {"by"}
TESTS = {
    "better_than": ClaimTest(lambda one: _ratios(one, *one.better), NAMED, frozenset({"than", "by"})),
    "ratio_within": ClaimTest(lambda one: _ratios(one, *one.bounds), NAMED, BOUNDS | {"than"}),
    "mean_within": ClaimTest(_mean_within, NAMED, BOUNDS | {"than"}),
    "order": ClaimTest(_order, NAMED, frozenset({"by"})),
    "increases_with": ClaimTest(lambda one: _trend(one, one.factor, inf), ALONG, FACTOR),
    "decreases_with": ClaimTest(lambda one: _trend(one, 0.0, 1 / one.factor), ALONG, FACTOR),
    "flat_with": ClaimTest(lambda one: _trend(one, 1 / one.factor, one.factor), ALONG, FACTOR),
    "value_within": ClaimTest(_value_within, CHANGE, BOUNDS),
    "gain_within": ClaimTest(_gain_within, CHANGE, BOUNDS),
}
