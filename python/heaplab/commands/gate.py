"""`heaplab gate`: fails where NEW is worse than OLD."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.gate_options import BASELINE, LIMITS, OUTPUTS, GateCommand
from heaplab.options.given_options import GateOptions
from heaplab.options.measuring_options import HOW_ELSE, begin, taking
from heaplab.options.option_types import DURATION_OR_AUTO


@click.command(cls=GateCommand)
@click.argument("old")
@click.argument("new")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGS]...]")
@taking(LIMITS, BASELINE, OUTPUTS)
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

    With --baseline, PROGRAM, or NEW alone, is compared with what was kept of it on this kind of machine.

    \b
    Examples:
      heaplab gate ./libold.so ./libnew.so --budget 10s -- ls -l
      heaplab gate ./libold.so ./libnew.so --budget 10s --auto --strict -- ls -l
      heaplab gate glibc 'glibc MALLOC_ARENA_MAX=1' --max-memory 10% --suite quick
      heaplab gate ./libold.so ./libnew.so --instructions only-callgrind --max-instructions 1% -- ls -l
      heaplab gate 'sleep 0.1' 'sleep 0.1' --markdown gate.md --budget 10s
      heaplab gate --baseline ls.json --update --budget 20s -- ls -l
      heaplab gate --baseline ls.json --budget 20s -- ls -l
    """
    begin(options)
    from heaplab.gate import auto_budget, run_baseline, run_gate

    if options["automatic"]:
        options["budget"] = auto_budget.FIRST_LOOK_S
    asked = GateOptions(**options)
    if asked.baseline or asked.update:
        return run_baseline.gate(extra, old, new, program, asked)
    return run_gate.gate(extra, old, new, program, asked)
