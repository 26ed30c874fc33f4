"""Evaluates the expectations of experiments on results."""

from dataclasses import dataclass
from typing import Any

from heaplab.analysis import Analysis, MeasuredCell, Study
from heaplab.catalog import spec
from heaplab.claims.claim_tests import NUMBERS, TESTS, Claim, ClaimResult, ClaimTest, Finding
from heaplab.errors import UsageError

# One finding of several decides: a sentence holds if all do.
WORST_FIRST = (ClaimResult.FAILS, ClaimResult.UNTESTED, ClaimResult.OPEN, ClaimResult.HOLDS)


@dataclass(frozen=True)
class ClaimOutcome:
    experiment: str
    says: str
    result: ClaimResult
    figures: str  # the ratios behind the outcome, or why there are none


def check(experiment: spec.Experiment) -> None:
    """Raise a UsageError that names the first invalid expectation: unknown kind or argument."""
    for expectation in experiment.expectations:
        _test_of(experiment, expectation)


def _test_of(experiment: spec.Experiment, expectation: spec.Expectation) -> ClaimTest:
    where = f"{experiment.id}: expectation '{expectation.test}'"
    test = TESTS.get(expectation.test)
    if test is None:
        raise UsageError(f"{where} is none of {', '.join(TESTS)}")
    axis = experiment.compare.along if experiment.compare else "allocator"
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
        value = expectation.arguments[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UsageError(f"{where}: '{name}' is a number, not {value!r}")
    _check_lists(where, expectation, axis)
    return test


def _check_lists(where: str, expectation: spec.Expectation, axis: str) -> None:
    named, than = expectation.arguments.get(axis), expectation.arguments.get("than")
    if expectation.test == "order" and not (isinstance(named, list) and len(named) > 1):
        raise UsageError(f"{where}: '{axis}' is a list of at least two")
    if isinstance(than, list) and (
        expectation.test != "mean_within" or not isinstance(named, list) or len(than) != len(named)
    ):
        raise UsageError(f"{where}: 'than' is one name, or in mean_within a list as long as '{axis}'")


def evaluate(analysis: Analysis) -> list[ClaimOutcome]:
    """Every expectation of every experiment, in order."""
    return [outcome for study in analysis.studies for outcome in evaluate_study(study)]


def evaluate_study(study: Study) -> list[ClaimOutcome]:
    return [_evaluate(study, expectation) for expectation in study.experiment.expectations]


def _evaluate(study: Study, expectation: spec.Expectation) -> ClaimOutcome:
    try:
        findings = _findings(study, expectation)
    except UsageError as error:
        return ClaimOutcome(study.name, expectation.sentence, ClaimResult.UNTESTED, str(error))
    results = {finding.result for finding in findings} or {ClaimResult.UNTESTED}
    result = next(one for one in WORST_FIRST if one in results)
    figures = "; ".join(finding.text() for finding in findings) or "nothing was measured"
    return ClaimOutcome(study.name, expectation.sentence, result, figures)


def _findings(study: Study, expectation: spec.Expectation) -> list[Finding]:
    test = _test_of(study.experiment, expectation)
    arguments = expectation.arguments
    candidates = [str(name) for name in _listed(arguments.get(study.axis, study.candidates))]
    than = _listed(arguments.get("than", [])) if "along" not in arguments else []
    if absent := [str(name) for name in [*candidates, *than] if str(name) not in study.candidates]:
        raise UsageError(f"not measured here: {absent[0]}")
    metric = str(arguments.get("metric", study.main_metric))
    study.metric(metric)
    return test.run(Claim(study, metric, candidates, arguments, _cells(study, test, arguments)))


def allocators_of(experiment: spec.Experiment) -> list[str]:
    """The allocators that its sentences speak of, in their order."""
    found: list[Any] = []
    for expectation in experiment.expectations:
        arguments = expectation.arguments
        found += _listed(arguments.get("allocator", []))
        if "along" not in arguments and not experiment.compare:
            found += _listed(arguments.get("than", []))
    return list(dict.fromkeys(map(str, found)))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _cells(study: Study, test: ClaimTest, arguments: dict[str, Any]) -> list[MeasuredCell]:
    """The cells whose swept parameters have the values that the arguments name."""
    kept = study.cells
    for name in arguments.keys() - test.needs - test.takes - {"metric", study.axis}:
        values = _listed(arguments[name])
        kept = [cell for cell in kept if dict(cell).get(name) in values]
    if not kept:
        raise UsageError("no cell of this scale has the values it speaks of")
    return kept
