"""Published sentences as tests on results: an expectation of an experiment holds, does not hold, or is open.

Every kind of test turns the results into ratios with 95 % intervals and names the region in which the ratio
must lie. The sentence holds if the whole interval lies inside, does not hold if it lies outside, and is
open otherwise, or if what it speaks of was not measured. A ratio over several cells is their geometric mean.

| test             | arguments                         | the ratio                   | must lie in        |
|------------------|-----------------------------------|-----------------------------|--------------------|
| `better_than`    | allocator, [than], [by]           | allocator / than            | below 1 / (1+by)   |
| `ratio_within`   | allocator, [than], [low], [high]  | allocator / than            | low..high          |
| `order`          | allocator (a list, best first)    | each / the next             | below 1 / (1+by)   |
| `increases_with` | along, [allocator], [factor]      | last / first value of along | factor and above   |
| `decreases_with` | along, [allocator], [factor]      | last / first value of along | 1/factor and below |
| `flat_with`      | along, [allocator], [factor]      | last / first value of along | 1/factor..factor   |
| `value_within`   | along, value, than, [low], [high] | value / than of along       | low..high          |

Common arguments: `metric` (else the workload's main metric). `allocator` is a name or a list, each of which
must do; without it, every allocator measured. `than` is an allocator, else the baseline. `by` is 0.03 and
`factor` 1.03 unless given. Along `threads` the last value is the last that has a CPU for each thread. Every
other argument names a swept parameter and keeps the cells with that value, or one of those values. In
`better_than` and `order` better is lower, or higher for metrics like a rate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import inf, isnan
from typing import Any

from heaplab import spec, stats
from heaplab.analysis import Analysis, Cell, Study
from heaplab.errors import UsageError
from heaplab.records import Parameter
from heaplab.stats import THRESHOLD, Interval, Pair


class Result(StrEnum):
    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"


@dataclass(frozen=True)
class Outcome:
    experiment: str
    says: str
    result: Result
    figures: str  # the ratios it rests on, or why there are none


@dataclass(frozen=True)
class Finding:
    """One ratio and the region it must lie in."""

    name: str
    ratio: Interval
    low: float
    high: float

    @property
    def result(self) -> Result:
        if isnan(self.ratio.estimate):
            return Result.OPEN
        if self.low <= self.ratio.low and self.ratio.high <= self.high:
            return Result.HOLDS
        return Result.FAILS if self.ratio.high < self.low or self.ratio.low > self.high else Result.OPEN

    def text(self) -> str:
        if isnan(self.ratio.estimate):
            return f"{self.name} has cells without a figure"
        span = f" ({self.ratio.low:.2f}–{self.ratio.high:.2f})" if self.ratio.bounded else " (no interval)"
        return f"{self.name} {self.ratio.estimate:.2f}×{span}"


@dataclass(frozen=True)
class Claim:
    """An expectation with its arguments sorted out."""

    study: Study
    metric: str
    allocators: list[str]
    arguments: dict[str, Any]
    cells: list[Cell]

    def number(self, name: str, otherwise: float) -> float:
        return float(self.arguments.get(name, otherwise))

    def values_along(self) -> list[Parameter]:
        """The values of the axis to follow, in order.

        Beyond the machine's CPUs threads take turns, so a trend ends before, if two values are left.
        """
        name = self.arguments["along"]
        beyond = {dict(cell)[name] for cell in self.study.cells if self.study.oversubscribed(cell)}
        values = list(self.study.axes[name])
        within = [value for value in values if value not in beyond] if name == "threads" else values
        return within if len(within) > 1 else values

    def ratio(self, pairs: list[tuple[Pair, Cell]]) -> Interval:
        """Not a number if any of the cells has no values: the sentence speaks of all of them."""
        return stats.geometric_mean([[(pair, self.study.seed(cell)) for pair, cell in pairs]])

    def between(self, allocator: str, than: str) -> Interval:
        """Geometric mean over the cells of allocator / than."""
        return self.ratio([(self.study.pair(c, than, allocator, self.metric), c) for c in self.cells])

    def along(self, allocator: str, first: Parameter, last: Parameter) -> Interval:
        """Geometric mean of the cells with the last value over those with the first, else the same.

        Blocks of one number share a round and a seed, so they pair cells as they pair allocators.
        """
        name, pairs = self.arguments["along"], []
        for cell in self.cells:
            if dict(cell)[name] == first:
                other = tuple((key, last if key == name else value) for key, value in cell)
                left = self.study.values(cell, allocator, self.metric)
                right = self.study.values(other, allocator, self.metric)
                both = sorted(left.keys() & right.keys())
                pairs.append((([left[b] for b in both], [right[b] for b in both]), cell))
        return self.ratio(pairs)


def _better_than(claim: Claim) -> list[Finding]:
    than = claim.arguments.get("than", claim.study.baseline)
    low, high = _better(claim)
    names = [name for name in claim.allocators if name != than]
    return [Finding(f"{name} / {than}", claim.between(name, than), low, high) for name in names]


def _better(claim: Claim) -> tuple[float, float]:
    by = claim.number("by", THRESHOLD)
    return (1 + by, inf) if claim.study.metric(claim.metric).better == "higher" else (0.0, 1 / (1 + by))


def _ratio_within(claim: Claim) -> list[Finding]:
    than = claim.arguments.get("than", claim.study.baseline)
    low, high = claim.number("low", 0.0), claim.number("high", inf)
    names = [name for name in claim.allocators if name != than]
    return [Finding(f"{name} / {than}", claim.between(name, than), low, high) for name in names]


def _order(claim: Claim) -> list[Finding]:
    low, high = _better(claim)
    neighbours = zip(claim.allocators, claim.allocators[1:], strict=False)
    return [Finding(f"{a} / {b}", claim.between(a, b), low, high) for a, b in neighbours]


def _trend(claim: Claim, low: float, high: float) -> list[Finding]:
    values = claim.values_along()
    where = f"{claim.arguments['along']} {values[-1]} / {values[0]}"
    return [
        Finding(f"{name}, {where}:", claim.along(name, values[0], values[-1]), low, high)
        for name in claim.allocators
    ]


def _increases_with(claim: Claim) -> list[Finding]:
    return _trend(claim, claim.number("factor", 1 + THRESHOLD), inf)


def _decreases_with(claim: Claim) -> list[Finding]:
    return _trend(claim, 0.0, 1 / claim.number("factor", 1 + THRESHOLD))


def _flat_with(claim: Claim) -> list[Finding]:
    factor = claim.number("factor", 1 + THRESHOLD)
    return _trend(claim, 1 / factor, factor)


def _value_within(claim: Claim) -> list[Finding]:
    first, last = claim.arguments["than"], claim.arguments["value"]
    low, high = claim.number("low", 0.0), claim.number("high", inf)
    return [
        Finding(f"{name}, {last} / {first}:", claim.along(name, first, last), low, high)
        for name in claim.allocators
    ]


@dataclass(frozen=True)
class Test:
    run: Callable[[Claim], list[Finding]]
    needs: frozenset[str]
    takes: frozenset[str]


COMMON = frozenset({"metric", "allocator"})
NUMBERS = frozenset({"by", "factor", "low", "high"})
TESTS = {
    "better_than": Test(_better_than, frozenset({"allocator"}), frozenset({"than", "by"})),
    "ratio_within": Test(_ratio_within, frozenset({"allocator"}), frozenset({"than", "low", "high"})),
    "order": Test(_order, frozenset({"allocator"}), frozenset({"by"})),
    "increases_with": Test(_increases_with, frozenset({"along"}), frozenset({"factor"})),
    "decreases_with": Test(_decreases_with, frozenset({"along"}), frozenset({"factor"})),
    "flat_with": Test(_flat_with, frozenset({"along"}), frozenset({"factor"})),
    "value_within": Test(_value_within, frozenset({"along", "value", "than"}), frozenset({"low", "high"})),
}


def check(experiment: spec.Experiment) -> None:
    """Raise UsageError naming the first expectation that is no test: an unknown kind or argument."""
    for expectation in experiment.expectations:
        _test_of(experiment, expectation)


def _test_of(experiment: spec.Experiment, expectation: spec.Expectation) -> Test:
    where = f"{experiment.id}: expectation '{expectation.test}'"
    test = TESTS.get(expectation.test)
    if test is None:
        raise UsageError(f"{where} is none of {', '.join(TESTS)}")
    given = expectation.arguments.keys()
    if missing := sorted(test.needs - given):
        raise UsageError(f"{where} needs the argument '{missing[0]}'")
    axes = experiment.quick.sweep.keys() | experiment.full.sweep.keys()
    if unknown := sorted(given - test.needs - test.takes - COMMON - axes):
        raise UsageError(f"{where}: '{unknown[0]}' is neither an argument of it nor a swept parameter")
    if (along := expectation.arguments.get("along")) is not None and along not in axes:
        raise UsageError(f"{where}: '{along}' is not a swept parameter")
    for name in sorted(given & NUMBERS):
        if not _is_number(value := expectation.arguments[name]):
            raise UsageError(f"{where}: '{name}' is a number, not {value!r}")
    named = expectation.arguments.get("allocator")
    if expectation.test == "order" and not (isinstance(named, list) and len(named) > 1):
        raise UsageError(f"{where}: 'allocator' is a list of at least two")
    return test


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def evaluate(analysis: Analysis) -> list[Outcome]:
    """Every expectation of every experiment, in order."""
    return [outcome for study in analysis.studies for outcome in evaluate_study(study)]


def evaluate_study(study: Study) -> list[Outcome]:
    return [_evaluate(study, expectation) for expectation in study.experiment.expectations]


def _evaluate(study: Study, expectation: spec.Expectation) -> Outcome:
    try:
        findings = _findings(study, expectation)
    except UsageError as error:
        return Outcome(study.experiment.id, expectation.says, Result.OPEN, str(error))
    results = {finding.result for finding in findings}
    result = Result.HOLDS if results == {Result.HOLDS} else Result.OPEN
    if Result.FAILS in results:
        result = Result.FAILS
    figures = "; ".join(finding.text() for finding in findings) or "nothing was measured"
    return Outcome(study.experiment.id, expectation.says, result, figures)


def _findings(study: Study, expectation: spec.Expectation) -> list[Finding]:
    test = _test_of(study.experiment, expectation)
    arguments = expectation.arguments
    named = arguments.get("allocator", study.allocators)
    allocators = [str(name) for name in (named if isinstance(named, list) else [named])]
    than = arguments.get("than") if "along" not in arguments else None
    if absent := [n for n in [*allocators, *([than] if than else [])] if n not in study.allocators]:
        raise UsageError(f"not measured here: {absent[0]}")
    metric = str(arguments.get("metric", study.main_metric))
    study.metric(metric)
    return test.run(Claim(study, metric, allocators, arguments, _cells(study, test, arguments)))


def _cells(study: Study, test: Test, arguments: dict[str, Any]) -> list[Cell]:
    """The cells whose swept parameters have the values the arguments name."""
    kept = study.cells
    for name in arguments.keys() - test.needs - test.takes - COMMON:
        values = arguments[name] if isinstance(arguments[name], list) else [arguments[name]]
        kept = [cell for cell in kept if dict(cell).get(name) in values]
    if not kept:
        raise UsageError("no cell of this scale has the values it speaks of")
    return kept
