"""`heaplab trace`: what a trace holds."""

from pathlib import Path

import click

from heaplab.cli import trace_summary
from heaplab.cli.option_types import PLACE
from heaplab.cli.record import Told
from heaplab.cli.selection import note
from heaplab.console import console, put
from heaplab.errors import UsageError
from heaplab.traces import recording, tool

LABEL = 16  # columns
MOST = 20  # processes that are shown


@click.command()
@click.argument("trace_file", type=PLACE, metavar="TRACE")
def trace(trace_file: Path) -> None:
    """Show what a trace holds, and whether its order is proven.

    A folder FILE.trace.raw, which `heaplab record` leaves where it is killed, becomes FILE.trace first.

    \b
    Example:
      heaplab trace ls.trace
    """
    if trace_file.is_dir():
        trace_file = finished(trace_file)
    found = tool.summary(trace_file)
    out = console()
    put(out, trace_summary.totals(found))
    for line in trace_summary.warnings(found):
        note(f"{trace_file}: {line}")
    for process in found["processes"][:MOST]:
        put(out, "")
        for label, text in trace_summary.of_process(process):
            put(out, text.replace("[", r"\["), label=label, indent=LABEL)
    if (more := len(found["processes"]) - MOST) > 0:
        put(out, f"and {trace_summary.counted(more, 'process', 'processes')} more")


def finished(raw: Path) -> Path:
    """The trace made of a folder that a recording left. Raises UsageError where it is none."""
    if not (raw.name.endswith(recording.RAW) and (raw / "control").is_file()):
        raise UsageError(f"{raw}: is a folder, not a trace")
    made = raw.with_name(raw.name.removesuffix(recording.RAW))
    tool.finish(raw, made, Told())
    recording.remove(raw)
    note(f"{made}: made of {raw}")
    return made
