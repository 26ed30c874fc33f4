"""`heaplab record`: a program's allocation calls in a file."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.option_types import DURATION, NAMES, TRACE_LIMIT, output_file
from heaplab.options.program_command import ProgramCommand
from heaplab.options.sampling_options import AT, EVERY, PAGES, SAMPLE


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="--pid PID | -- PROGRAM [ARGS]...")
@output_file("What is written; a file there is replaced.  [default: PROGRAM.trace, PROGRAM.sample]")
@click.option(
    "--under",
    default="",
    show_default="what PROGRAM is linked with",
    metavar="ALLOCATOR",
    help="What serves malloc.",
)
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
    help="Begin at SIGUSR1, with what lives then. SIGUSR2 always ends the recording; PROGRAM goes on alone.",
)
@click.option(
    "--stacks",
    is_flag=True,
    help="Record the call stack of each acquisition, up to 33 calls deep: by unwind information on x86-64 "
    "with glibc 2.35 and later, else by frame pointers alone (-fno-omit-frame-pointer).",
)
@click.option(
    "--count-instructions",
    "instructions",
    is_flag=True,
    help="Count the instructions that the threads execute in user mode, by the processor's counter: how much "
    "of its work a program does for each call. On AArch64, kernel.perf_user_access must be 1 (Linux 5.17).",
)
@click.option("--pid", "process", metavar="PID", help="Record a process that runs; it goes on as before.")
@click.option(
    "--functions",
    type=NAMES,
    default=(),
    help="Record these functions, by symbol, such as pool_get=malloc.  [default: those of known mallocs]",
)
@SAMPLE
@PAGES
@EVERY
@AT
@click.pass_obj
def record(extra: tuple[Path, ...], /, program: tuple[str, ...], process: str | None, **options: Any) -> int:
    """Record the allocation calls of PROGRAM in a trace file.

    What PROGRAM starts is recorded too, also what it leaves running: until that ends as well, or SIGINT or
    SIGUSR2 ends the recording. The exit status is that of PROGRAM. Of a server that runs long, record a
    window: --paused until SIGUSR1, and SIGUSR2 ends it; or sample it.

    \b
    Examples:
      heaplab record -o ls.trace -- ls -l
      heaplab record --for 60s --trace-limit 4GiB -- ls -l
      sh -c 'until [ $((i += 1)) = 9999999 ]; do :; done' >&- 2>&- & heaplab record --pid $! --for 1s
      heaplab record --stacks -o ls.trace -- ls -l
      heaplab record --sample 64KiB --pages --every 1s -- ls -l
      heaplab record --paused --for 60s -o window.trace -- sh -c 'kill -USR1 $PPID; sleep 1; ls -l'
    """
    from heaplab.running import run_attach
    from heaplab.tracing.run_record import RecordingOptions

    return run_attach.record(extra, program, process, RecordingOptions(**options))
