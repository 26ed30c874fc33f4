"""`heaplab check`: does a malloc library keep its contract, also where things go wrong?"""

import os
from pathlib import Path
from typing import Any

import click

from heaplab.check import parts
from heaplab.options.option_types import FILE, OUTPUT_FILE


@click.command()
@click.argument("names", nargs=-1, metavar="LIBRARY|NAME...")
@click.option("--all", "everything", is_flag=True, help="Every allocator of the catalog.")
@click.option(
    "--part",
    "asked",
    multiple=True,
    metavar="PART",
    help=f"Only this part; may be repeated. One of: {', '.join(parts.NAMES)}.",
)
@click.option("--test", "pattern", default="*", metavar="GLOB", help="Only tests with such a name.")
@click.option(
    "--long", is_flag=True, help="Ten times as much, every refusal, and a heap that ages for 30 minutes."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    default=len(os.sched_getaffinity(0)),
    show_default="one for each CPU",
    help="Tests that run at the same time, 1 to 1024.",
)
@click.option("--deviations", "own", type=FILE, help="A TOML file of what is known of your library.")
@click.option("--junit", "xml", type=OUTPUT_FILE, help="Write JUnit XML.")
@click.option("--json", "as_json", type=OUTPUT_FILE, help="Write the outcomes as JSON.")
@click.pass_obj
def check(extra: tuple[Path, ...], /, **options: Any) -> None:
    """Put a malloc library under conformance tests and torture.

    LIBRARY is a file such as ./libmine.so, NAME an allocator of the catalog. The exit status is 1 if a test
    fails, and every failure comes with the command that repeats it under gdb.

    \b
    Example:
      heaplab check scalloc --part contract
    """
    from heaplab.check import run_check

    run_check.check(extra, run_check.CheckOptions(**options))
