"""`heaplab watch`: the memory of a process each second, and the call sites that hold it."""

from pathlib import Path

import click

from heaplab.options.option_types import DURATION, output_file
from heaplab.options.program_command import ProgramCommand
from heaplab.options.sampling_options import DISTANCE


@click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@click.argument(
    "program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PID | -- PROGRAM [ARGS]..."
)
@click.option("--for", "seconds", type=DURATION, help="End after so much time; PROGRAM goes on alone.")
@click.option(
    "--ask",
    is_flag=True,
    help="Of a PID: ask the allocator each second what is live, as `heaplab look --ask` does.",
)
@click.option(
    "--sample",
    type=DISTANCE,
    metavar="SIZE",
    help="The distance of samples, by which call sites are known. A PID is sampled only with it, as by "
    "`heaplab record --pid`.  [default: 512KiB of PROGRAM]",
)
@output_file("Where snapshots of samples go, by the key w and at the end.  [default: at w, PROGRAM.sample]")
@click.pass_obj
def watch(
    extra: tuple[Path, ...],
    /,
    program: tuple[str, ...],
    seconds: float | None,
    ask: bool,
    sample: float | None,
    output: Path | None,
) -> int:
    """Show each second what a process holds: resident, live, retained, and outside malloc.

    A PROGRAM that is started here is sampled, so that live bytes have an interval, and a page on the terminal
    names its call sites; with --sample so is a PID, of what it acquires from then on. Keys: s sorts by live
    bytes or by growth within a minute, p pauses the page, w writes a snapshot for `heaplab trace`, b writes
    the page as PROGRAM.watch.html (PID.watch.html) and opens it in a browser, q quits; PROGRAM then goes on
    alone. Its output is in PROGRAM.out. Without a terminal there is a line each second, for PROGRAM on
    standard error. The exit status is that of PROGRAM if it has ended.

    \b
    Examples:
      heaplab watch --for 2s $$
      sleep 9 & heaplab watch --for 2s --sample 64KiB $!
      heaplab watch --for 2s -- sh -c 'sleep 1; ls'
    """
    from heaplab.running import run_watch

    options = run_watch.WatchOptions(seconds, ask, int(sample) if sample else None, output)
    return run_watch.watch(extra, program, options)
