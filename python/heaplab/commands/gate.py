"""`heaplab gate`: fails where NEW is worse than OLD."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.given_options import GateOptions
from heaplab.options.measuring_options import (
    CALLGRIND,
    COUNTERS,
    HOW_ELSE,
    INPUT,
    ONLY_CALLGRIND,
    SUITE,
    Options,
    taking,
)
from heaplab.options.option_types import AUTO, DURATION_OR_AUTO, OUTPUT_FILE, SHARE
from heaplab.options.program_command import ProgramCommand

# What may be worse by how much, and what is measured; `heaplab bisect` takes these options too.
LIMITS: Options = [
    click.option(
        "--max-slower",
        type=SHARE,
        default="5%",
        help="Time NEW may take beyond OLD's, and instructions that it may execute, if that has no limit of "
        "its own; --precision is then half of it at most, if not given.",
    ),
    click.option(
        "--max-memory",
        type=SHARE,
        default="3%",
        help="Memory NEW may need beyond OLD's: at its peak, in the mean and at the end.",
    ),
    click.option(
        "--max-instructions",
        type=SHARE,
        help="Instructions NEW may execute beyond OLD's, where they are counted; alone it is the limit of "
        "time too.  [default: that of --max-slower]",
    ),
    click.option(
        "--instructions",
        type=click.Choice([COUNTERS, CALLGRIND, ONLY_CALLGRIND]),
        default=COUNTERS,
        help="What counts instructions: the processor, where it can; also valgrind's callgrind, for what has "
        "one thread; or callgrind and nothing else, which decides small changes in seconds.",
    ),
    SUITE,
    INPUT,
]


@click.command(cls=ProgramCommand)
@click.argument("old")
@click.argument("new")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGS]...]")
@taking(LIMITS)
@click.option("--markdown", type=OUTPUT_FILE, help="Write a table for a pull request's comment.")
@click.option("--junit", type=OUTPUT_FILE, help="Write JUnit XML.")
@click.option("--bencher", type=OUTPUT_FILE, help="Write JSON for bencher.dev.")
@click.option("--strict", is_flag=True, help="Fail, with status 4, also where this machine could not tell.")
@click.option(
    "--auto",
    is_flag=True,
    help="Count instructions under callgrind where times could not tell and one thread does the work.",
)
@click.option(
    "--budget",
    type=DURATION_OR_AUTO,
    help="Stop measuring after this time, which has to have room for two blocks: 90s, 5m; auto: after a "
    "minute say how long the limits need here, and go on for that long, at most half an hour.",
)
@taking(HOW_ELSE)
@click.pass_obj
def gate(extra: tuple[Path, ...], /, old: str, new: str, program: tuple[str, ...], **options: Any) -> int:
    """Fail if NEW is worse than OLD beyond a limit; for continuous integration.

    OLD and NEW are libraries, allocators with settings, or commands. There are four outcomes: WORSE, exit
    status 3, if the whole interval of a ratio, in any cell, lies beyond its limit and beyond what OLD may
    differ from itself; NOT WORSE, 0, if all lie within their limits; COULD NOT TELL, 0 or with --strict 4, if
    this machine shows too little; FAILED, 1, if a run failed or nothing was compared. Status 2: wrong usage.
    No limit is ever raised.

    \b
    Examples:
      heaplab gate ./libold.so ./libnew.so --budget 10s -- ls -l
      heaplab gate ./libold.so ./libnew.so --budget 10s --auto --strict -- ls -l
      heaplab gate glibc 'glibc MALLOC_ARENA_MAX=1' --max-memory 10% --suite quick
      heaplab gate ./libold.so ./libnew.so --instructions only-callgrind --max-instructions 1% -- ls -l
      heaplab gate 'sleep 0.1' 'sleep 0.1' --markdown gate.md --budget 10s
    """
    from heaplab.gate import auto_budget, run_gate

    automatic = options["budget"] == AUTO
    if automatic:
        options["budget"] = auto_budget.FIRST_LOOK_S
    asked = GateOptions(**options, automatic=automatic)
    return run_gate.gate(extra, old, new, program, asked)
