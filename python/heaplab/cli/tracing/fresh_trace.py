"""Recordings that a command makes for its own purposes: with call stacks, over the C library's malloc."""

from collections.abc import Callable
from pathlib import Path

from heaplab.cli.benchmarks.selection import BASELINE, note
from heaplab.cli.tracing import record
from heaplab.traces import recording


def recorded(program: tuple[str, ...], extra: tuple[Path, ...]) -> Path:
    """Record the program in PROGRAM.trace in the current folder."""
    trace = record.default_trace(program)
    status = record_in(trace, program, extra, lambda opened: record.tell(trace, opened))
    if status != 0:
        note(f"{program[0]}: exit status {status}")
    return trace


def record_in(
    trace: Path, program: tuple[str, ...], extra: tuple[Path, ...], finished: Callable[[bool], None]
) -> int:
    """Record the program; return its exit status."""
    wanted = recording.Wanted(trace, record.library_of(extra, BASELINE), stacks=True)
    return record.carry_out(program, wanted, finished)
