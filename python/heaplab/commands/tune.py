"""`heaplab tune`: settings of an allocator, tried on a program."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.given_options import HowOptions, Subject
from heaplab.options.measuring_options import HOW, INPUT, begin, given_among, taking
from heaplab.options.program_command import ProgramCommand
from heaplab.options.server_options import FIELDS, SERVER_OPTIONS


@click.command(cls=ProgramCommand)
@click.argument("name")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
@INPUT
@taking(SERVER_OPTIONS, HOW)
@click.pass_context
def tune(
    context: click.Context, /, name: str, program: tuple[str, ...], source: Path | None, **options: Any
) -> int:
    """Try settings of an allocator on PROGRAM, and measure the best of them afresh.

    The settings are those that `heaplab show NAME` calls worth trying. A quarter of the budget (10m for a
    program, 20m for a server) is for each by itself, a quarter for the best of them together, and the rest
    for a confirmation of the best by time, by memory and by both. Only its figures are shown, because the
    best of many is in part lucky. The same command goes on with what was interrupted.

    \b
    Example:
      heaplab tune glibc --budget 20s -- ls -l
    """
    begin(options)
    from heaplab.tune import run_tune

    subject = Subject(program=program, source=source, serving=given_among(options, FIELDS))
    return run_tune.tune(context, name, subject, HowOptions(**options))
