"""Evaluates the expectations of experiments on results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heaplab.analysis import Analysis, MeasuredCell, Study
from heaplab.analysis.claims.claim_tests import NUMBERS, TESTS, Claim, ClaimTest, MeasuredRatio, listed
from heaplab.analysis.claims.demands import AMOUNT, DIRECTION, Bounds, ClaimResult, Numbers, around, worst
from heaplab.errors import UsageError
from heaplab.results import spec


@dataclass(frozen=True)
class ClaimOutcome:
    experiment: str
    says: str
    results: dict[str, ClaimResult]  # by what the sentence states: "" alone, or its direction and its amount
    figures: str  # the ratios behind the outcome, or why there are none

    @property
    def result(self) -> ClaimResult:
        return worst({*self.results.values()})

    @property
    def verdict(self) -> str:
        """ "holds", or "direction holds, amount does not hold"."""
        return ", ".join(f"{what} {result}".strip() for what, result in self.results.items())


def check(experiment: spec.Experiment) -> None:
    """Raise a UsageError that names the first invalid expectation: unknown kind or argument."""
    for expectation in experiment.expectations:
        test_of(experiment, expectation)


def test_of(experiment: spec.Experiment, expectation: spec.Expectation) -> ClaimTest:
    """The kind of test. Raises UsageError for an expectation that is none."""
    where = f"{experiment.id}: expectation '{expectation.test}'"
    test = TESTS.get(expectation.test)
    if test is None:
        raise UsageError(f"{where} is none of {', '.join(TESTS)}")
    axis = axis_of(experiment)
    given = expectation.arguments.keys()
    needs = {axis if name == "allocator" else name for name in test.needs}
    if missing := sorted(needs - given):
        raise UsageError(f"{where} needs the argument '{missing[0]}'")
    axes = (experiment.quick.sweep.keys() | experiment.full.sweep.keys()) - {axis}
    if unknown := sorted(given - needs - test.takes - {"metric", axis} - axes):
        raise UsageError(f"{where}: '{unknown[0]}' is neither an argument of it nor a swept parameter")
    if (along := expectation.arguments.get("along")) is not None and along not in axes:
        raise UsageError(f"{where}: '{along}' is not a swept parameter")
    for name in sorted(given & NUMBERS):
        _check_number(where, name, expectation.arguments[name])
    _check_lists(where, expectation, axis)
    return test


def axis_of(experiment: spec.Experiment) -> str:
    """What the candidates are: the compared parameter, or "allocator"."""
    return experiment.compare.along if experiment.compare else "allocator"


def _check_number(where: str, name: str, value: Any) -> None:
    numbers = listed(value) if name == AMOUNT else [value]
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise UsageError(f"{where}: '{name}' is a number, not {number!r}")
    if name == AMOUNT and (min(numbers) <= 0 or min(numbers) < 1 < max(numbers) or 1 in numbers):
        raise UsageError(f"{where}: 'amount' lies on one side of 1, and above 0")


def _check_lists(where: str, expectation: spec.Expectation, axis: str) -> None:
    named, than = expectation.arguments.get(axis), expectation.arguments.get("than")
    if expectation.test == "order" and not (isinstance(named, list) and len(named) > 1):
        raise UsageError(f"{where}: '{axis}' is a list of at least two")
    if not isinstance(than, list) or expectation.test in ("better_than", "ratio_within"):
        return
    if expectation.test != "mean_within" or not isinstance(named, list) or len(than) != len(named):
        raise UsageError(f"{where}: 'than' is one name, or in mean_within a list as long as '{axis}'")


def evaluate(analysis: Analysis) -> list[ClaimOutcome]:
    """Every expectation of every experiment, in order."""
    return [outcome for study in analysis.studies for outcome in evaluate_study(study)]


def evaluate_study(study: Study) -> list[ClaimOutcome]:
    return [_evaluate(study, expectation) for expectation in study.experiment.expectations]


def _evaluate(study: Study, expectation: spec.Expectation) -> ClaimOutcome:
    try:
        ratios = measured_ratios(study, expectation)
    except UsageError as error:
        return undecided(study.name, expectation, str(error))
    return judge(study.name, expectation, higher_is_better(study, expectation), ratios)


def undecided(experiment: str, expectation: spec.Expectation, why: str) -> ClaimOutcome:
    return ClaimOutcome(experiment, expectation.sentence, {"": ClaimResult.UNTESTED}, why)


def judge(
    experiment: str, expectation: spec.Expectation, higher_better: bool, ratios: Sequence[MeasuredRatio]
) -> ClaimOutcome:
    """The outcome of a sentence whose ratios are known: those of its metric, higher better or lower."""
    demands = demands_of(expectation, higher_better)
    results = {
        what: worst({region.result(ratio.ratio) for ratio in ratios}) for what, region in demands.items()
    }
    said = [ratio.text() for ratio in ratios]
    if AMOUNT in demands:
        said.append(f"as stated: {demands[AMOUNT].text()}")
    if expectation.unobtainable:
        said.append(f"not obtainable: {', '.join(expectation.unobtainable)}")
    return ClaimOutcome(experiment, expectation.sentence, results, "; ".join(said) or "nothing was measured")


def demands_of(expectation: spec.Expectation, higher_better: bool) -> dict[str, Bounds]:
    """The regions in which the ratios must lie: of a stated amount its direction, and around the amount."""
    numbers = Numbers(expectation.arguments, higher_better)
    region = TESTS[expectation.test].region(numbers)
    return {DIRECTION: region, AMOUNT: around(numbers.amount)} if numbers.amount else {"": region}


def measured_ratios(study: Study, expectation: spec.Expectation) -> list[MeasuredRatio]:
    """Raises UsageError, which says why, if nothing of what the sentence speaks of was measured."""
    test = test_of(study.experiment, expectation)
    arguments = expectation.arguments
    candidates = [str(name) for name in listed(arguments.get(study.axis, study.candidates))]
    study.metric(_metric(study, expectation))
    cells = _cells(study, test, arguments)
    return test.measure(Claim(study, _metric(study, expectation), candidates, arguments, cells))


def _metric(study: Study, expectation: spec.Expectation) -> str:
    return str(expectation.arguments.get("metric", study.main_metric))


def higher_is_better(study: Study, expectation: spec.Expectation) -> bool:
    return study.metric(_metric(study, expectation)).better == "higher"


def allocators_of(experiment: spec.Experiment) -> list[str]:
    """The allocators that its sentences speak of, in their order."""
    names: list[Any] = []
    for expectation in experiment.expectations:
        arguments = expectation.arguments
        names += listed(arguments.get("allocator", []))
        if "along" not in arguments and not experiment.compare:
            names += listed(arguments.get("than", []))
    return list(dict.fromkeys(map(str, names)))


def _cells(study: Study, test: ClaimTest, arguments: dict[str, Any]) -> list[MeasuredCell]:
    """The cells whose swept parameters have the values that the arguments name."""
    kept = study.cells
    for name in arguments.keys() - test.needs - test.takes - {"metric", study.axis}:
        values = listed(arguments[name])
        kept = [cell for cell in kept if dict(cell).get(name) in values]
    if not kept:
        raise UsageError("no cell of this scale has the values it speaks of")
    return kept
