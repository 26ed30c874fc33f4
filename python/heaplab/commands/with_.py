"""`heaplab with`: any program under an allocator."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.measuring_options import NO_DEEP_BINDING, OWN_ALLOCATOR
from heaplab.options.program_command import ProgramCommand


@click.command("with", cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@click.argument("name", metavar="ALLOCATOR")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
@OWN_ALLOCATOR
@NO_DEEP_BINDING
@click.pass_obj
def with_(extra: tuple[Path, ...], /, **options: Any) -> None:
    """Run PROGRAM with ALLOCATOR serving its malloc, in place of this command.

    Static programs that it starts, and those started with a cleared environment, are not served: `heaplab
    record` and `heaplab compare` name them.

    \b
    Examples:
      heaplab with jemalloc -- ls -l
      heaplab with --no-deep-binding jemalloc -- ls -l
      heaplab with --allocator 'one=glibc MALLOC_ARENA_MAX=1' one -- ls -l
    """
    from heaplab.running import run_with

    run_with.become(extra, **options)
