"""The file of a gate's baseline: what was measured of one subject, once for each kind of machine."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from heaplab import __version__
from heaplab.analysis import Kept
from heaplab.errors import UsageError, fault_of
from heaplab.files import regular_file
from heaplab.files.output import write_text
from heaplab.machine import callgrind, host
from heaplab.results.checked import Spec
from heaplab.results.records import Parameter

# Facts that must agree for counts and memory of two runs to be compared: hosts of one kind update their
# kernels, and have a little more or less memory.
KIND = ("architecture", "cpu", "cpus", "c_library", "page_size", "transparent_huge_pages", "valgrind")


class KeptValues(Spec):
    experiment: str
    cell: dict[str, Parameter]
    measure: str
    values: dict[int, float]  # by block


class KeptRun(Spec):
    """What was measured on one kind of machine."""

    taken: str  # ISO 8601, UTC
    heaplab: str  # version
    facts: dict[str, Any]  # of the machine
    values: list[KeptValues]

    @property
    def kind(self) -> dict[str, Any]:
        return {name: self.facts.get(name) for name in KIND}

    @property
    def kept(self) -> Kept:
        return {
            (each.experiment, tuple(each.cell.items()), each.measure): each.values for each in self.values
        }


class Baseline(Spec):
    schema_version: Literal[1] = Field(default=1, alias="schema")
    subject: str  # what was measured, as the user typed it
    runs: list[KeptRun] = Field(default=[])

    def of_kind(self, facts: Mapping[str, Any]) -> KeptRun | None:
        return next((run for run in self.runs if run.kind == kind_of(facts)), None)

    def why_none(self, facts: Mapping[str, Any]) -> str:
        """How this machine differs from the last one that was kept."""
        last, here = self.runs[-1].kind, kind_of(facts)
        return "; ".join(
            f"{name}: {last[name]} there, {here[name]} here" for name in KIND if last[name] != here[name]
        )

    def with_run(self, run: KeptRun) -> "Baseline":
        others = [other for other in self.runs if other.kind != run.kind]
        return self.model_copy(update={"runs": [*others, run]})


def kind_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facts.get(name) for name in KIND}


def facts_here() -> dict[str, Any]:
    return host.facts() | {"valgrind": callgrind.version()}


def run_of(values: Kept, facts: dict[str, Any]) -> KeptRun:
    return KeptRun(
        taken=datetime.now(UTC).isoformat(timespec="seconds"),
        heaplab=__version__,
        facts=facts,
        values=[
            KeptValues(experiment=experiment, cell=dict(cell), measure=measure, values=dict(values))
            for (experiment, cell, measure), values in values.items()
        ],
    )


def read(path: Path, subject: str) -> Baseline:
    """The baseline in the file, which is about `subject`. Raises UsageError."""
    try:
        baseline = Baseline.model_validate_json(regular_file.content_of(path))
    except ValidationError as error:
        raise UsageError(f"{path}: not a baseline of heaplab gate: {fault_of(error, 'the file')}") from error
    if baseline.subject != subject:
        raise UsageError(f"{path}: the baseline of {baseline.subject!r}, not of {subject!r}")
    return baseline


def write(path: Path, baseline: Baseline) -> None:
    write_text(path, baseline.model_dump_json(by_alias=True, indent=1) + "\n")
