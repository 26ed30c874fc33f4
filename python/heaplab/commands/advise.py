"""`heaplab advise`: what holds a program's memory, and what would give it back."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.local_options import local_options, without_mixtures
from heaplab.options.measuring_options import OWN_ALLOCATOR
from heaplab.options.option_types import DURATION, output_file
from heaplab.options.program_command import ProgramOrTraceCommand
from heaplab.options.trace_options import PROCESS


@click.command(cls=ProgramOrTraceCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="TRACE | -- PROGRAM [ARGS]...")
@click.option(
    "--allocators",
    metavar="A,B,...",
    help="Names, or 'all' found here. The first is the baseline.  [default: those found here, glibc first]",
)
@OWN_ALLOCATOR
@click.option(
    "--apart",
    multiple=True,
    metavar="TEXT",
    help="What if: give blocks of the call sites whose names hold TEXT a heap of their own.  [default: those "
    "that pin most]",
)
@click.option(
    "--pace",
    type=click.Choice(["asap", "recorded"]),
    help="Replay as fast as possible, or no call earlier than in the recording.  [default: recorded under "
    "allocators that may purge by time, as often as a minute allows; all else as fast as possible]",
)
@click.option(
    "--budget",
    type=DURATION,
    help="Begin no replay after so much time; the answer is then of those before.  [default: none]",
)
@click.option(
    "--trim-every",
    type=DURATION,
    help="Call malloc_trim each time that so much of the recording has passed.  [default: a tenth]",
)
@PROCESS
@local_options
@output_file("Write FILE; its suffix says what: .html a page, .perfetto.json counters for Perfetto's viewer.")
@click.option("--json", "as_json", is_flag=True, help="Print at most 8 KiB of JSON, the verdict first.")
@click.pass_obj
def advise(extra: tuple[Path, ...], /, program: tuple[str, ...], local: bool, **options: Any) -> int:
    """Tell what holds the memory of PROGRAM, and what would give it back.

    The first lines are what holds most: live data; a leak; data that grows; what the allocator retains; what
    few blocks pin; what the next burst takes again; or nothing to gain. PROGRAM is recorded in PROGRAM.trace.
    A file of samples tells growth alone.
    Leaks and growth are told first. Then the recording is replayed under each allocator, also with the call
    sites that pin most pages apart. Ctrl-C ends the replays: what is known then is told, with exit status 1.

    \b
    Examples:
      heaplab advise -- ls -l
      heaplab advise ls.trace
      heaplab advise ls.trace --allocators jemalloc,scalloc -o advice.html
      heaplab advise --local -- ls -l
    """
    chosen = without_mixtures(local, options)
    if local:
        from heaplab.subsystems import run_local

        return run_local.local(extra, program, run_local.LocalOptions(**chosen))
    from heaplab.advise import run_advise

    return run_advise.advise(extra, program, run_advise.AdviceOptions(**chosen))
