"""`heaplab look`: the memory of a running process at two moments, and what its allocator says of it."""

import sys
import time
from dataclasses import replace

import click

from heaplab.errors import UsageError
from heaplab.running import look_output
from heaplab.running.asking import Asking
from heaplab.running.serving import lost_children, serving
from heaplab.running.smaps import group_limit, memory_of
from heaplab.running.target import target
from heaplab.running.what_holds import Look
from heaplab.screen.console import console


def look(process: str, seconds: float, ask: bool, trim: bool, as_json: bool) -> None:
    if trim and not ask:
        raise UsageError("--trim asks the allocator: give --ask too")
    of = target(process)
    served = serving(of)
    asking = Asking(of, served) if ask else None  # refused before time is spent
    first, begin = memory_of(of, served.is_c_library), time.monotonic()
    time.sleep(seconds)
    last, passed = memory_of(of, served.is_c_library), time.monotonic() - begin
    seen = Look(of, served, first, last, passed, group_limit(of), lost_children(of, served))
    if asking:
        seen = replace(seen, answer=asking.ask())
        if trim and agreed(seen, asking):
            before = memory_of(of, served.is_c_library).bytes
            fault = asking.trim().fault
            after = memory_of(of, served.is_c_library).bytes
            seen = replace(seen, came_back=max(0, before - after))
            if fault:
                click.echo(f"heaplab: {of.title}: {fault}", err=True)
    if as_json:
        click.echo(look_output.text_of(seen))
    else:
        look_output.print_look(seen, console())


def agreed(seen: Look, asking: Asking) -> bool:
    """Whether memory is to be given back; only on a terminal somebody is there to be asked."""
    what = f"{seen.of.title}: call {asking.question.gives_back}? Threads that allocate wait meanwhile."
    return not sys.stdin.isatty() or click.confirm(what, err=True)
