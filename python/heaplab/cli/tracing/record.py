"""`heaplab record`: a program's allocation calls in a file."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from heaplab.catalog import contents as catalogs
from heaplab.cli.benchmarks.selection import BASELINE, arm_of, note
from heaplab.cli.options.option_types import DURATION, OUTPUT_FILE, TRACE_LIMIT
from heaplab.cli.options.program_command import ProgramCommand
from heaplab.cli.tracing import trace_summary
from heaplab.errors import HeaplabError
from heaplab.results.records import Arm
from heaplab.traces import recording, tool

SILENT_S = 2.0  # between two notes on the progress


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="The trace; a file there is replaced. By default PROGRAM.trace in the current folder.",
)
@click.option("--under", default=BASELINE, metavar="ALLOCATOR", help="What serves malloc.")
@click.option(
    "--trace-limit",
    type=TRACE_LIMIT,
    help="Stop recording at this size, such as 4GiB: a call takes 32 B until the program ends.",
)
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    help="Record for this time, such as 90s; the program then goes on alone.",
)
@click.option(
    "--paused",
    is_flag=True,
    help="Begin to record when this command gets SIGUSR1; what lives then is in the trace too. SIGUSR2 "
    "always ends the recording, and PROGRAM goes on alone.",
)
@click.option(
    "--stacks",
    is_flag=True,
    help="Record the call stack of each acquisition, up to 33 calls deep: by the unwind information that "
    "code has on x86-64 with glibc 2.35 and later; on AArch64 and with older C libraries by frame pointers "
    "alone (-fno-omit-frame-pointer).",
)
@click.option(
    "--count-instructions",
    "instructions",
    is_flag=True,
    help="Count the instructions that the threads execute in user mode, by the processor's counter: how much "
    "of its work a program does for each call. On AArch64, kernel.perf_user_access must be 1 (Linux 5.17).",
)
@click.pass_obj
def record(
    extra: tuple[Path, ...],
    /,
    program: tuple[str, ...],
    output: Path | None,
    under: str,
    trace_limit: float | None,
    seconds: float | None,
    paused: bool,
    stacks: bool,
    instructions: bool,
) -> int:
    """Record the allocation calls of PROGRAM in a trace file.

    What PROGRAM starts is recorded too, also what it leaves running: until that ends as well, or SIGINT or
    SIGUSR2 ends the recording. The exit status is that of PROGRAM. Of a server that runs long, record a
    window: --paused until SIGUSR1, and SIGUSR2 ends it.

    \b
    Examples:
      heaplab record -o ls.trace -- ls -l
      heaplab record --for 60s --trace-limit 4GiB -- ls -l
      heaplab record --stacks -o ls.trace -- ls -l
      heaplab record --paused --for 60s -o window.trace -- sh -c 'kill -USR1 $PPID; sleep 1; ls -l'
    """
    library, trace = library_of(extra, under), output or default_trace(program)
    wanted = recording.Wanted(trace, library, int(trace_limit or 0), seconds, paused, stacks, instructions)
    return carry_out(program, wanted, lambda why: tell(trace, why))


def default_trace(program: tuple[str, ...]) -> Path:
    return Path(f"{Path(program[0]).name}.trace")


def library_of(extra: tuple[Path, ...], name: str) -> Arm:
    """The allocator that serves malloc below the recorder. Raises HeaplabError if it is void."""
    library = arm_of(catalogs.load(extra), name)
    if library.void:
        raise HeaplabError(f"{name}: {library.void}")
    return library


def carry_out(program: tuple[str, ...], wanted: recording.Wanted, finished: Callable[[str], None]) -> int:
    """Record the program; return its exit status. `finished` is that of `recording.record`."""
    recording.check(program[0], wanted)
    return recording.record(
        program,
        wanted,
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
    """Record the program over the C library's malloc; return its exit status.

    Raises HeaplabError if there is no trace.
    """

    def needed(why: str) -> None:
        if why:
            raise HeaplabError(f"{trace}: {why}")
        finished()

    wanted = recording.Wanted(trace, library_of(extra, BASELINE), stacks=True)
    return carry_out(program, wanted, needed)


def tell(trace: Path, why: str) -> None:
    """Note what the trace holds, or why there is none."""
    if why:
        note(f"{trace}: {why}")
        return
    found = tool.summary(trace)
    note(f"{trace}: {trace_summary.totals(found)}")
    for line in trace_summary.warnings(found):
        note(f"{trace}: {line}")


class ProgressNote:
    """Notes on a terminal the progress of work on a trace that takes long."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._last = time.monotonic()

    def __call__(self, done: int, whole: int) -> None:
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._last >= SILENT_S:
            self._last = now
            note(f"{self._what}: {100 * done // max(whole, 1)} %")
