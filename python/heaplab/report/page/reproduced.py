"""The outcomes of published sentences in a campaign: a few lines for each experiment, without its runs."""

import shlex
from collections.abc import Iterable

from heaplab.analysis import Analysis, Study
from heaplab.catalog import spec
from heaplab.claims import ClaimResult, evaluate_study
from heaplab.records import Parameter, Record
from heaplab.report.words import facts


class Sentence(Record):
    """A published sentence as it was tested, and the outcome."""

    test: str
    arguments: dict[str, Parameter | list[Parameter]]
    result: ClaimResult
    figures: str


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
    sentences: list[Sentence]

    @property
    def cpus(self) -> str:
        """The number of CPUs of the machine, in words."""
        return next(
            (fact for fact in self.machine.split(", ") if fact.endswith((" CPU", " CPUs"))), "CPUs unknown"
        )

    def outcome_of(self, expectation: spec.Expectation) -> Sentence | None:
        """The sentence that was tested as the expectation is today; the wording does not matter."""
        asked = (expectation.test, expectation.arguments)
        return next((one for one in self.sentences if (one.test, one.arguments) == asked), None)


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
        sentences=[
            Sentence(test=one.test, arguments=one.arguments, result=found.result, figures=found.figures)
            for one, found in zip(study.experiment.expectations, evaluate_study(study), strict=True)
        ],
    )


def newest(known: Iterable[Reproduced]) -> dict[str, Reproduced]:
    """The last measurement of each experiment at full scale or, where there is none, at another scale."""
    found: dict[str, Reproduced] = {}
    for one in sorted(known, key=lambda each: (each.scale == "full", each.date)):
        found[one.experiment] = one
    return found
