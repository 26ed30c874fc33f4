"""The options of commands that look at a trace."""

import click

ROWS = EVENTS, BLOCKS = "events", "blocks"  # what a row of Parquet is
PROCESS = click.option(
    "--process",
    type=click.IntRange(min=0),
    metavar="NUMBER",
    help="What process is looked at, numbered from 0 as they began.  [default: the one with the most events]",
)
