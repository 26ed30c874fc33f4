"""The kinds of tests: from an expectation's arguments to ratios and the region they must lie in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import isnan, nan
from typing import Any

from heaplab import stats
from heaplab.analysis import MeasuredCell, Study
from heaplab.analysis.claims.demands import Bounds, Numbers
from heaplab.results.records import Parameter
from heaplab.stats import Interval, Pair


@dataclass(frozen=True)
class MeasuredRatio:
    """A ratio that a sentence speaks of, with its name on the page."""

    of: str  # what a sentence asks for: a candidate, "a / b", or "" for a mean over all
    name: str
    ratio: Interval

    def text(self) -> str:
        if isnan(self.ratio.estimate):
            return f"{self.name.removesuffix(':')} was not measured in all cells"
        span = f" ({self.ratio.low:.2f}–{self.ratio.high:.2f})" if self.ratio.bounded else " (no interval)"
        return f"{self.name} {self.ratio.estimate:.2f}×{span}"


def not_measured(of: str, name: str = "") -> MeasuredRatio:
    return MeasuredRatio(of, name or of, Interval(nan))


@dataclass(frozen=True)
class Claim:
    """An expectation with its arguments resolved against a study."""

    study: Study
    metric: str
    candidates: list[str]
    arguments: dict[str, Any]
    cells: list[MeasuredCell]

    @property
    def references(self) -> list[str]:
        return [str(name) for name in listed(self.arguments.get("than", self.study.baseline))]

    def has(self, *names: str) -> bool:
        return all(name in self.study.candidates for name in names)

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

    def ratio(self, pairs: list[tuple[Pair, MeasuredCell]]) -> Interval:
        """The mean ratio. Not a number if a cell has no values, because the sentence is about all cells."""
        return stats.geometric_mean([[(pair, self.study.key(cell)) for pair, cell in pairs]])

    def between(self, candidate: str, than: str) -> MeasuredRatio:
        """Geometric mean over the cells of candidate / than."""
        name = f"{candidate} / {than}"
        if not self.has(candidate, than):
            return not_measured(name)
        pairs = [(self.study.pair(c, than, candidate, self.metric), c) for c in self.cells]
        return MeasuredRatio(name, name, self.ratio(pairs))

    def along(self, candidate: str, first: Parameter, last: Parameter, what: str) -> MeasuredRatio:
        """Geometric mean over the cells of the ratio of the last value to the first, all else equal."""
        if not self.has(candidate):
            return not_measured(candidate)
        parameter = self.arguments["along"]
        pairs = [
            (self.study.across(cell, candidate, self.metric, {parameter: first}), cell)
            for cell in self.cells_at(first, last)
        ]
        return MeasuredRatio(candidate, f"{candidate}, {what}{last} / {first}:", self.ratio(pairs))

    def cells_at(self, first: Parameter, last: Parameter) -> list[MeasuredCell]:
        """The cells with the first value of the parameter, each changed to the last value."""
        name = self.arguments["along"]
        return [self.study.changed(cell, {name: last}) for cell in self.cells if dict(cell)[name] == first]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _ratios(claim: Claim) -> list[MeasuredRatio]:
    pairs = [(name, than) for name in claim.candidates for than in claim.references if name != than]
    return [claim.between(name, than) for name, than in pairs]


def _mean(claim: Claim) -> list[MeasuredRatio]:
    others = claim.references
    if len(others) == 1:
        others *= len(claim.candidates)
    pairs = list(zip(claim.candidates, others, strict=True))
    if not claim.has(*claim.candidates, *others):
        return [not_measured("", ", ".join(f"{a} / {b}" for a, b in pairs))]
    ratio = claim.ratio([(claim.study.pair(c, b, a, claim.metric), c) for a, b in pairs for c in claim.cells])
    return [MeasuredRatio("", f"mean of {', '.join(f'{a} / {b}' for a, b in pairs)}:", ratio)]


def _order(claim: Claim) -> list[MeasuredRatio]:
    return [claim.between(a, b) for a, b in pairwise(claim.candidates)]


def _trend(claim: Claim) -> list[MeasuredRatio]:
    values, what = claim.values_along(), f"{claim.arguments['along']} "
    return [claim.along(name, values[0], values[-1], what) for name in claim.candidates]


def _value(claim: Claim) -> list[MeasuredRatio]:
    first, last = claim.arguments["than"], claim.arguments["value"]
    return [claim.along(name, first, last, "") for name in claim.candidates]


def _gain(claim: Claim) -> list[MeasuredRatio]:
    along, first, value = (claim.arguments[name] for name in ("along", "than", "value"))
    lasts = listed(value)
    names = [name for name in claim.candidates if name != claim.study.baseline]
    if not claim.has(*names):
        return [not_measured("", ", ".join(names))]
    ratio = claim.ratio(
        [
            (claim.study.quotient(cell, name, claim.metric, {along: first}), cell)
            for name in names
            for last in lasts
            for cell in claim.cells_at(first, last)
        ]
    )
    where = f"{along} {', '.join(map(str, lasts))} / {first}"
    return [MeasuredRatio("", f"{', '.join(names)} to {claim.study.baseline}, {where}:", ratio)]


def _nothing(_: Claim) -> list[MeasuredRatio]:
    return []


@dataclass(frozen=True)
class ClaimTest:
    """A kind of test. `allocator` stands for whatever the experiment compares."""

    measure: Callable[[Claim], list[MeasuredRatio]]
    region: Callable[[Numbers], Bounds]
    needs: frozenset[str]
    takes: frozenset[str]

    @property
    def is_mean(self) -> bool:
        """Whether all candidates give one ratio, so that a ratio of other candidates is another one."""
        return self.measure in (_mean, _gain)

    def asked(self, candidates: Iterable[str], references: Iterable[str]) -> list[str]:
        """The ratios that a sentence about these candidates asks for."""
        if self.is_mean:
            return [""]
        if self.measure is _order:
            return [f"{a} / {b}" for a, b in pairwise(candidates)]
        if self.measure is _ratios:
            return [f"{a} / {b}" for a in candidates for b in references if a != b]
        return list(candidates)


NAMED, BOUNDS = frozenset({"allocator"}), frozenset({"low", "high", "amount"})
ALONG, CHANGE = frozenset({"along"}), frozenset({"along", "value", "than"})
FACTOR = frozenset({"factor"})
NUMBERS = BOUNDS | FACTOR | {"by"}
TESTS = {
    "better_than": ClaimTest(_ratios, lambda of: of.better, NAMED, frozenset({"than", "by"})),
    "ratio_within": ClaimTest(_ratios, lambda of: of.bounds, NAMED, BOUNDS | {"than"}),
    "mean_within": ClaimTest(_mean, lambda of: of.bounds, NAMED, BOUNDS | {"than"}),
    "order": ClaimTest(_order, lambda of: of.better, NAMED, frozenset({"by"})),
    "increases_with": ClaimTest(_trend, lambda of: of.rising, ALONG, FACTOR),
    "decreases_with": ClaimTest(_trend, lambda of: of.falling, ALONG, FACTOR),
    "flat_with": ClaimTest(_trend, lambda of: of.flat, ALONG, FACTOR),
    "value_within": ClaimTest(_value, lambda of: of.bounds, CHANGE, BOUNDS),
    "gain_within": ClaimTest(_gain, lambda of: of.bounds, CHANGE, BOUNDS),
    "unobtainable": ClaimTest(_nothing, lambda of: of.bounds, frozenset(), frozenset()),
}
