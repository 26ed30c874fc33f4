"""The outcome of a run: did it end well, did the intended library serve it, was it disturbed."""

import os
from dataclasses import dataclass
from typing import IO

from pydantic import ValidationError

from heaplab.campaign.plan import Cell
from heaplab.errors import fault_of
from heaplab.machine import host, interposition
from heaplab.machine.callgrind import InstructionCount
from heaplab.machine.execute import Execution, failure
from heaplab.machine.watch import Limits
from heaplab.programs.servers import ServedRun
from heaplab.results.records import Arm, Metric, Sample, ServedBy, Status

INSTRUCTIONS = "instructions"  # name of the metric, also for workloads that read hardware counters


@dataclass(frozen=True)
class RunOutcome:
    """The status of a run, and its sample. Only heaplab's workloads have a sample."""

    status: Status
    reason: str = ""
    sample: Sample | None = None


def last_line(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - 4096))
    lines = stream.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""


def ended_badly(execution: Execution, errors: IO[bytes], limits: Limits) -> RunOutcome | None:
    """The outcome of a run that failed; None for a run that ended well."""
    if reason := failure(execution, last_line(errors), limits):
        return RunOutcome(Status.TIMEOUT if execution.killed_for == "time" else Status.FAILED, reason)
    return None


def judge_sample(stream: IO[bytes], library: Arm) -> RunOutcome:
    stream.seek(0)
    try:
        sample = Sample.model_validate_json(stream.read().strip())
    except ValidationError as error:
        return RunOutcome(Status.FAILED, f"its output is no sample: {fault_of(error, 'the line')}")
    if fault := interposition.fault_of_sample(sample, library):
        return RunOutcome(Status.VOID, fault)
    return RunOutcome(Status.OK, sample=sample)


def judge_server(served: ServedRun, limits: Limits, cell: Cell, seed: int, library: Arm) -> RunOutcome:
    if served.execution.killed_for:
        status = Status.TIMEOUT if served.execution.killed_for == "time" else Status.FAILED
        return RunOutcome(status, failure(served.execution, "", limits))
    if served.fault:
        return RunOutcome(Status.FAILED, served.fault)
    if served.unproved:
        return RunOutcome(Status.VOID, served.unproved)
    return RunOutcome(Status.OK, sample=sample_of(served.metrics, cell, seed, library))


def sample_of(metrics: dict[str, Metric], cell: Cell, seed: int, library: Arm) -> Sample:
    """A sample of what was measured from outside, once it is proved that the library served."""
    path = library.preload[0] if library.preload else interposition.C_LIBRARY_NAME
    return Sample(
        schema=1,
        workload=cell.workload.id,
        parameters=dict(cell.parameters),
        seed=seed,
        metrics=metrics,
        served_by={} if library.command else {"malloc": ServedBy(path=path)},
    )


def judge_count(
    outcome: RunOutcome, count: InstructionCount, cell: Cell, seed: int, library: Arm
) -> RunOutcome:
    """Add the instructions that callgrind counted; no figure where they depend on how threads take turns.

    The one thread of a synthetic workload runs beside a main thread that waits for it.
    """
    most = 2 if cell.workload.kind == "synthetic" else 1
    if count.threads > most:
        return RunOutcome(Status.SKIPPED, "it has several threads, which callgrind runs in turn")
    if not count.instructions:
        return RunOutcome(Status.VOID, "callgrind saw no instruction of the part that is timed")
    if library.preload and library.preload[0] not in count.objects:
        return RunOutcome(Status.VOID, f"callgrind saw no instruction of {library.preload[0]}")
    counted = {INSTRUCTIONS: Metric(value=count.instructions, unit="1")}
    known = outcome.sample.metrics if outcome.sample else {}
    return RunOutcome(Status.OK, sample=sample_of(known | counted, cell, seed, library))


def judge_disturbance(outcome: RunOutcome, execution: Execution, foreign: float, attempt: int) -> RunOutcome:
    """Void a first attempt under too much foreign load. A second attempt always counts."""
    process = execution.process
    if foreign <= host.foreign_limit(process.wall_time * process.executions):
        return outcome
    reason = f"others used more than {host.FOREIGN_SHARE:.0%} of the CPU time meanwhile"
    if attempt == 0:
        return RunOutcome(Status.VOID, f"{reason}, so it was repeated", outcome.sample)
    return RunOutcome(Status.OK, f"{reason}, and it stands", outcome.sample)
