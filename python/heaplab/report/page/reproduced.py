"""The outcomes of published sentences in a campaign: a few lines for each experiment, without its runs."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from heaplab.analysis import Analysis, Study
from heaplab.catalog import spec
from heaplab.claims import ClaimOutcome, ClaimResult, evaluate_study
from heaplab.errors import UsageError, fault_of
from heaplab.records import Parameter, Record
from heaplab.report.words import facts


class Sentence(Record):
    """A published sentence as it was tested, and the outcome."""

    test: str
    arguments: dict[str, Parameter | list[Parameter]]
    result: ClaimResult
    figures: str

    def is_about(self, expectation: spec.Expectation) -> bool:
        """Whether the sentence was tested as the expectation is today; the wording does not matter."""
        return (self.test, self.arguments) == (expectation.test, expectation.arguments)


class Reproduced(Record):
    """One experiment as it was measured."""

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
        return next((one for one in self.sentences if one.is_about(expectation)), None)


KNOWN: TypeAdapter[list[Reproduced]] = TypeAdapter(list[Reproduced])


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
        machine=facts.in_short(analysis.results.host.facts if analysis.results.host else {}),
        heaplab=campaign.heaplab,
        command=shlex.join(campaign.command),
        versions={name: libraries[name].version for name in analysis.allocators if name in libraries},
        cells=len(study.cells_run),
        runs=len(study.runs),
        disturbed=sum(run.experiment == study.experiment.id for run in analysis.disturbed),
        finished=end is not None and end.reason != "budget",
        sentences=[
            sentence(expectation, outcome)
            for expectation, outcome in zip(study.experiment.expectations, evaluate_study(study), strict=True)
        ],
    )


def sentence(expectation: spec.Expectation, outcome: ClaimOutcome) -> Sentence:
    return Sentence(
        test=expectation.test,
        arguments=expectation.arguments,
        result=outcome.result,
        figures=outcome.figures,
    )


def newest(known: Iterable[Reproduced]) -> dict[str, Reproduced]:
    """The last measurement of each experiment at full scale or, where there is none, at another scale."""
    found: dict[str, Reproduced] = {}
    for one in sorted(known, key=lambda each: (each.scale == "full", each.date)):
        found[one.experiment] = one
    return found


def load(path: Path) -> list[Reproduced]:
    """Raises UsageError for a file that was not written by `write`."""
    try:
        return KNOWN.validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        raise UsageError(f"{path}: {fault_of(error, 'the file')}") from error


def write(known: Sequence[Reproduced], path: Path) -> None:
    ordered: list[Any] = sorted(known, key=lambda one: one.experiment)
    path.write_bytes(KNOWN.dump_json(ordered, indent=1) + b"\n")
