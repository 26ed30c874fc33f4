"""A program recorded now, and the process of a trace that is looked at."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from heaplab.catalog import contents as catalogs
from heaplab.cli.benchmarks.selection import BASELINE, arm_of, note
from heaplab.cli.tracing import record
from heaplab.cli.tracing.trace import chosen
from heaplab.errors import HeaplabError, UsageError
from heaplab.traces import recording, tool


def number_of(trace: Path, process: int | None) -> tuple[dict[str, Any], int]:
    """The summary of the trace, and the number of the process that is looked at. Raises UsageError."""
    summary = tool.summary(trace)
    if not summary["processes"]:
        raise UsageError(f"{trace}: holds no process")
    return summary, chosen(trace, summary, process)


def recorded(program: tuple[str, ...], extra: tuple[Path, ...]) -> Path:
    """Record the program beside the current folder's other traces."""
    trace = Path(f"{Path(program[0]).name}.trace")
    status = record_in(trace, program, extra, lambda opened: record.tell(trace, opened))
    if status != 0:
        note(f"{program[0]}: exit status {status}")
    return trace


def record_in(
    trace: Path, program: tuple[str, ...], extra: tuple[Path, ...], finished: Callable[[bool], None]
) -> int:
    """Record the program with stacks over the C library; return its exit status."""
    library = arm_of(catalogs.load(extra), BASELINE)
    if library.void:
        raise HeaplabError(f"{BASELINE}: {library.void}")
    wanted = recording.Wanted(trace, library, stacks=True)
    recording.check(program[0], wanted)
    return recording.record(
        program,
        wanted,
        lambda left: note(f"{trace}: still recorded: {', '.join(left)}; SIGINT or SIGUSR2 ends it"),
        finished,
        record.ProgressNote("making the trace"),
    )
