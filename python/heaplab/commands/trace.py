"""`heaplab trace`: the content of a trace, on the terminal, as a page, and for other programs."""

from typing import Any

import click

from heaplab.options.option_types import PLACE, output_file
from heaplab.options.trace_options import PROCESS, ROWS
from heaplab.traces.folded import WEIGHTS


@click.command()
@click.argument("trace_file", type=PLACE, metavar="TRACE")
@click.argument("new", type=PLACE, required=False, metavar="[NEW]")
@click.option(
    "--again",
    multiple=True,
    type=PLACE,
    metavar="TRACE",
    help="With NEW: another recording of what the first is of, to tell noise; may be repeated.",
)
@output_file(
    "Write FILE; its suffix says what: .html a page, .parquet columns for DuckDB and pandas, .json what "
    "Valgrind's dh_view.html shows, .pb.gz what pprof reads, .folded collapsed stacks for flamegraph.pl, "
    ".trace a trace of heaptrack's or mtrace's, or one drawn from a twin, .twin a twin to share, .toml an "
    "experiment of ACDC that resembles the program."
)
@click.option(
    "--rows",
    type=click.Choice(ROWS),
    help="What a row of Parquet is: an event, or a block from birth to death.  [default: events]",
)
@click.option(
    "--weight",
    type=click.Choice(list(WEIGHTS)),
    help="What collapsed stacks count: bytes live at the peak, or at the end; bytes allocated; calls that "
    "allocate.  [default: peak]",
)
@PROCESS
def trace(**options: Any) -> int:
    """Show what a trace holds, or write it in another form; with NEW, what changed by call site.

    The first line says whether the order of all events is proven. Exit status 5: the trace is damaged or cut
    off, and what is intact was used. With -o FILE.trace the output of heaptrack,
    raw or interpreted, or of glibc's mtrace becomes a trace.

    A folder FILE.trace.raw, which `heaplab record` leaves where it is killed, becomes FILE.trace first.

    \b
    Examples:
      heaplab trace ls.trace
      heaplab trace ls.trace -o ls.html
      heaplab trace ls.trace -o blocks.parquet --rows blocks
      heaplab trace ls.trace -o ls.folded --weight allocated
      heaplab trace ls.trace -o ls.twin
      heaplab trace ls.trace ls.trace
    """
    from heaplab.tracing import run_trace

    return run_trace.trace(**options)
