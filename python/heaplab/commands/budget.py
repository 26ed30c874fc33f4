"""`heaplab budget`: fails where a program allocates more than a file that is checked in allows."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.option_types import OUTPUT_FILE, PLACE
from heaplab.options.program_command import ProgramCommand
from heaplab.options.trace_options import PROCESS


@click.command(cls=ProgramCommand)
@click.argument("file", type=PLACE, metavar="FILE.toml")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
@click.option("--update", is_flag=True, help="Write FILE.toml from what PROGRAM allocates now.")
@click.option(
    "--recordings",
    type=click.IntRange(1, 100),
    default=3,
    help="How often PROGRAM is recorded, for --update or before a call site is said to have grown.",
)
@PROCESS
@click.option("--markdown", type=OUTPUT_FILE, help="Write a table for a pull request's comment.")
@click.option("--junit", type=OUTPUT_FILE, help="Write JUnit XML.")
@click.pass_obj
def budget(extra: tuple[Path, ...], /, file: Path, program: tuple[str, ...], **options: Any) -> int:
    """Fail if PROGRAM allocates more than FILE.toml allows; for continuous integration.

    FILE.toml is checked in. It has calls, bytes and peak by thread and call site, and what is tolerated.
    Exit status 3: a call site grew beyond that in each of several recordings; it is named, with whether that
    matters for time or memory, by replay. The last recording is kept beside FILE.toml, as FILE.trace.

    \b
    Examples:
      heaplab budget ls.toml --update -- ls -l
      heaplab budget ls.toml --junit budget.xml -- ls -l
    """
    from heaplab.budgets import run_budget

    return run_budget.budget(extra, file, program, run_budget.BudgetOptions(**options))
