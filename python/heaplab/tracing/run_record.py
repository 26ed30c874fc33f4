"""What `heaplab record` does, also for commands that need a recording."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from heaplab.catalog import contents as catalogs
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import container, interposition
from heaplab.options.chosen_arms import BASELINE, arm_of
from heaplab.options.option_types import HIGH
from heaplab.results.records import Arm
from heaplab.screen.notes import note
from heaplab.traces import SAMPLE, TRACE, recording, tool
from heaplab.traces.sampling import SamplingPlan
from heaplab.tracing import run_sample, trace_summary
from heaplab.tracing.progress_note import ProgressNote


@dataclass(frozen=True)
class RecordingOptions:
    """What is recorded of a program, and where to. None: the user gave no value."""

    output: Path | None
    under: str  # "": what the program is linked with
    trace_limit: float | None  # B
    seconds: float | None
    paused: bool
    stacks: bool
    instructions: bool
    functions: tuple[str, ...]
    sample: float | None = None  # B
    pages: bool = False
    every: float | None = None
    at: tuple[float | str, ...] = ()  # B, or HIGH


def record(extra: tuple[Path, ...], program: tuple[str, ...], options: RecordingOptions) -> int:
    """Record the program; return its exit status."""
    wanted = wanted_of(extra, program[0], options)
    return carry_out(program, wanted, lambda why: tell_of(wanted, why))


def wanted_of(
    extra: tuple[Path, ...], program: str, options: RecordingOptions, *, attached: bool = False
) -> recording.Wanted:
    """Raises an error for options that do not go together."""
    plan = plan_of(options)
    if options.pages and attached:
        raise UsageError("--pages: not with --pid, because blocks older than the recording are unknown")
    return recording.Wanted(
        options.output or default_trace((program,), SAMPLE if plan else TRACE),
        library_of(extra, options.under),
        int(options.trace_limit or 0),
        options.seconds,
        options.paused,
        options.stacks,
        options.instructions,
        options.functions,
        plan,
        attached,
    )


def plan_of(options: RecordingOptions) -> SamplingPlan | None:
    """How blocks are sampled, if they are. Raises UsageError for options that do not go together."""
    if options.sample is None:
        for name, value in (("--every", options.every), ("--at", options.at), ("--pages", options.pages)):
            if value:
                raise UsageError(f"{name} goes with --sample")
        return None
    calls = {
        "--trace-limit": options.trace_limit,
        "--paused": options.paused,
        "--stacks": options.stacks,
        "--count-instructions": options.instructions,
    }
    for name, value in calls.items():
        if value:
            raise UsageError(f"{name} goes with a recording of all calls, not with --sample")
    if HIGH in options.at and container.times_throttled() is None:
        raise UsageError(f"--at {HIGH}: no control groups of version 2 here; a size works everywhere")
    marks = [int(mark) for mark in options.at if mark != HIGH]
    mean = int(options.sample)
    page_period = max(1, mean // mmap.PAGESIZE) if options.pages else 0
    return SamplingPlan(mean, options.every, marks, HIGH in options.at, page_period)


def default_trace(program: tuple[str, ...], suffix: str = TRACE) -> Path:
    return Path(f"{Path(program[0]).name}{suffix}")


def library_of(extra: tuple[Path, ...], name: str = "") -> Arm:
    """The allocator that serves malloc below the recorder. Raises HeaplabError if it is void.

    Without a name nothing is preloaded: what the program is linked with serves it.
    """
    arm = arm_of(catalogs.load(extra), name or BASELINE)
    library = interposition.preloaded(arm) if name else arm
    if library.void:
        raise HeaplabError(f"{name}: {library.void}")
    return library


def carry_out(program: tuple[str, ...], wanted: recording.Wanted, finished: Callable[[str], None]) -> int:
    """Record the program; return its exit status. `finished` is that of `recording.record`."""
    redirected = recording.check(program[0], wanted)
    for sentence in redirected.sentences() if redirected else []:
        note(sentence)
    return recording.record(
        program,
        wanted,
        redirected,
        lambda left: note(f"{wanted.trace}: still recorded: {', '.join(left)}; SIGINT or SIGUSR2 ends it"),
        finished,
        ProgressNote("making the trace"),
    )


def with_stacks(program: tuple[str, ...], extra: tuple[Path, ...]) -> Path:
    """Record the program in PROGRAM.trace, as a command does that needs call stacks for its own purposes."""
    trace = default_trace(program)
    status = with_stacks_in(trace, program, extra, lambda: tell(trace, ""))
    if status != 0:
        note(f"{program[0]}: exit status {status}")
    return trace


def with_stacks_in(
    trace: Path, program: tuple[str, ...], extra: tuple[Path, ...], finished: Callable[[], None]
) -> int:
    """Record the program under its own malloc; return its exit status.

    Raises HeaplabError if there is no trace.
    """

    def needed(why: str) -> None:
        if why:
            raise HeaplabError(f"{trace}: {why}")
        finished()

    wanted = recording.Wanted(trace, library_of(extra), stacks=True)
    return carry_out(program, wanted, needed)


def tell_of(wanted: recording.Wanted, why: str) -> None:
    """Note what was recorded, or why there is nothing."""
    told = tell_sample if wanted.sampled else tell
    told(wanted.trace, why)


def tell(trace: Path, why: str) -> None:
    """Note what the trace holds, or why there is none."""
    if why:
        note(f"{trace}: {why}")
        return
    summary = tool.summary(trace)
    note(f"{trace}: {trace_summary.totals(summary)}")
    for line in trace_summary.warnings(summary):
        note(f"{trace}: {line}")


def tell_sample(file: Path, why: str) -> None:
    """Note what a file of samples holds, or why there is none."""
    if why:
        note(f"{file}: {why}")
        return
    note(f"{file}: {run_sample.totals(file)}")
