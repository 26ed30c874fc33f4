"""The outcomes of published sentences in a campaign: a few lines for each experiment, without its runs."""

import shlex
from collections.abc import Iterable
from math import isnan

from pydantic import Field

from heaplab.analysis import Analysis, Study
from heaplab.analysis.claims import (
    NUMBERS,
    TESTS,
    ClaimOutcome,
    MeasuredRatio,
    axis_of,
    higher_is_better,
    judge,
    listed,
    measured_ratios,
    not_measured,
    test_of,
    undecided,
)
from heaplab.errors import UsageError
from heaplab.report.words import facts
from heaplab.results import spec
from heaplab.results.records import Parameter, Record
from heaplab.stats import Interval

Arguments = dict[str, Parameter | list[Parameter]]
UNOBTAINABLE = TESTS["unobtainable"]


class StoredRatio(Record):
    of: str
    name: str
    estimate: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def stored(cls, measured: MeasuredRatio) -> "StoredRatio":
        ratio = measured.ratio
        low, high = (ratio.low, ratio.high) if ratio.bounded else (None, None)
        return cls(of=measured.of, name=measured.name, estimate=ratio.estimate, low=low, high=high)

    def measured(self) -> MeasuredRatio:
        unknown = Interval(self.estimate)
        low = unknown.low if self.low is None else self.low
        high = unknown.high if self.high is None else self.high
        return MeasuredRatio(self.of, self.name, Interval(self.estimate, low, high))


class MeasuredSentence(Record):
    """What was measured for a published sentence, whatever it is judged by."""

    test: str
    arguments: Arguments
    higher_is_better: bool = False
    ratios: list[StoredRatio] = Field(default_factory=list)
    why_none: str = ""


class Reproduced(Record):
    experiment: str
    scale: spec.ScaleName
    why_scale: str = ""  # why the scale is not larger
    date: str  # ISO 8601
    machine: str
    heaplab: str
    command: str
    versions: dict[str, str]  # by allocator
    cells: int  # in which at least one run was attempted
    runs: int
    disturbed: int  # runs that other work disturbed; their figures count nevertheless
    finished: bool  # whether the campaign ended before its budget did
    sentences: list[MeasuredSentence]

    @property
    def cpus(self) -> str:
        """The number of CPUs of the machine, in words."""
        return next(
            (fact for fact in self.machine.split(", ") if fact.endswith((" CPU", " CPUs"))), "CPUs unknown"
        )

    def outcome_of(self, experiment: spec.Experiment, expectation: spec.Expectation) -> ClaimOutcome | None:
        """The sentence judged as today's catalog says, by the ratios measured here; None if there are none.

        Any sentence of the experiment may have measured them: the wording and the bounds do not matter.
        """
        axis, test = axis_of(experiment), test_of(experiment, expectation)
        asked = _place(axis, expectation.test, expectation.arguments)
        same = [each for each in self.sentences if _place(axis, each.test, each.arguments) == asked]
        if not same:
            return None
        ratios = {ratio.of: ratio.measured() for sentence in same for ratio in sentence.ratios}
        if not ratios:
            return undecided(self.experiment, expectation, same[0].why_none)
        wanted = list(ratios)
        if axis in expectation.arguments:
            baseline = experiment.compare.reference if experiment.compare else next(iter(self.versions))
            references = listed(expectation.arguments.get("than", baseline))
            wanted = test.asked(listed(expectation.arguments[axis]), references)
        wanted_ratios = [ratios.get(name) or not_measured(name) for name in wanted]
        return judge(self.experiment, expectation, same[0].higher_is_better, wanted_ratios)


def unobtainable(experiment: spec.Experiment, expectation: spec.Expectation) -> ClaimOutcome | None:
    """The outcome of a sentence whose allocators cannot be had, whatever was run; None for any other."""
    if TESTS[expectation.test].measure is not UNOBTAINABLE.measure:
        return None
    return judge(experiment.id, expectation, False, [])


def _place(axis: str, test: str, arguments: Arguments) -> tuple[object, Arguments]:
    """What decides which ratio of two candidates is measured: how, of which metric, in which cells."""
    kind = TESTS[test]
    left_out = set(NUMBERS)
    if not kind.is_mean:
        left_out |= {axis} if "along" in arguments else {axis, "than"}
    return kind.measure, {name: value for name, value in arguments.items() if name not in left_out}


def reproduced(analysis: Analysis) -> list[Reproduced]:
    """The experiments of the campaign; those that compare a parameter count under the baseline alone."""
    own = [study for study in analysis.studies if study.under in ("", analysis.baseline)]
    return [of_study(analysis, study) for study in own if study.candidates]


def of_study(analysis: Analysis, study: Study) -> Reproduced:
    campaign, end = analysis.campaign, analysis.results.end
    libraries = analysis.results.libraries
    return Reproduced(
        experiment=study.experiment.id,
        scale=campaign.scale,
        why_scale=campaign.why_scale,
        date=campaign.started[:10],
        machine=facts.in_short(analysis.results.facts),
        heaplab=campaign.heaplab,
        command=shlex.join(campaign.command),
        versions={name: libraries[name].version for name in analysis.allocators if name in libraries},
        cells=len(study.cells_run),
        runs=len(study.runs),
        disturbed=sum(run.experiment == study.experiment.id for run in analysis.disturbed),
        finished=end is not None and end.reason != "budget",
        sentences=[measured_sentence(study, expectation) for expectation in study.experiment.expectations],
    )


def measured_sentence(study: Study, expectation: spec.Expectation) -> MeasuredSentence:
    measured = MeasuredSentence(test=expectation.test, arguments=expectation.arguments)
    try:
        ratios = measured_ratios(study, expectation)
        higher = higher_is_better(study, expectation)
    except UsageError as error:
        return measured.model_copy(update={"why_none": str(error)})
    stored = [StoredRatio.stored(ratio) for ratio in ratios if not isnan(ratio.ratio.estimate)]
    why = "" if stored else "; ".join(ratio.text() for ratio in ratios) or "nothing was measured"
    return measured.model_copy(update={"higher_is_better": higher, "ratios": stored, "why_none": why})


def newest(known: Iterable[Reproduced]) -> dict[str, Reproduced]:
    """The last measurement of each experiment at full scale or, where there is none, at another scale."""
    by_experiment: dict[str, Reproduced] = {}
    for entry in sorted(known, key=lambda each: (each.scale == "full", each.date)):
        by_experiment[entry.experiment] = entry
    return by_experiment
