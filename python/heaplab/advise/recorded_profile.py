"""What advice is about: a trace, the user's or a new one of a program, and the allocators that replay it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heaplab.catalog import contents as catalogs
from heaplab.errors import UsageError
from heaplab.options.arm_options import GivenAllocator
from heaplab.options.chosen_arms import arms
from heaplab.results.records import Arm
from heaplab.screen.notes import note
from heaplab.traces import foreign, tool
from heaplab.traces.profile import Profile, of_process
from heaplab.tracing import run_record, trace_summary
from heaplab.tracing.progress_note import ProgressNote
from heaplab.tracing.run_trace import summary_and_process


@dataclass(frozen=True)
class RecordedProfile:
    trace: Path
    process: int  # its number in the trace
    summary: dict[str, Any]
    warnings: list[str]
    profile: Profile
    arms: list[Arm]


def recorded_profile(
    extra: tuple[Path, ...],
    program: tuple[str, ...],
    allocators: str | None,
    own: tuple[GivenAllocator, ...],
    process: int | None,
) -> RecordedProfile:
    """Record the program if it is no trace. Raises HeaplabError for a trace that cannot be replayed."""
    if not program:
        raise UsageError("advise: name a trace, or a program behind --")
    given = Path(program[0]) if foreign.names_a_trace(program) else None
    if given:
        summary_and_process(given, process)  # refuses a bad trace before allocators are looked for
    _, treated = arms(catalogs.load(extra), allocators, own, None)
    trace = given or run_record.with_stacks(program, extra)
    summary, number = summary_and_process(trace, process)
    warnings = trace_summary.warnings(summary)
    for line in warnings if given else []:  # else told at the end of the recording
        note(f"{trace}: {line}")
    profile = of_process(trace, summary, number, ProgressNote("reading events"))
    if not profile.stretches:
        raise tool.unusable(trace, "holds no call, so that there is nothing to replay", summary["damage"])
    return RecordedProfile(trace, number, summary, warnings, profile, treated)
