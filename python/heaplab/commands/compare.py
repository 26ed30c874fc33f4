"""`heaplab compare`: allocators or commands, on experiments, a program or a trace."""

from pathlib import Path
from typing import Any

import click

from heaplab.options import replay_options
from heaplab.options.arm_options import GIVEN_COMMAND
from heaplab.options.given_options import ComparisonOptions, Subject
from heaplab.options.measuring_options import (
    ARMS,
    EXPERIMENT,
    HOOKS,
    HOW,
    NO_DEEP_BINDING,
    SUITE,
    begin,
    given_among,
    taking,
)
from heaplab.options.option_types import PLACE
from heaplab.options.program_command import ProgramOrTraceCommand
from heaplab.options.server_options import FIELDS, SERVER_OPTIONS
from heaplab.screen import exit_status

# The options by heading of the help.
GROUPS = {
    "What is compared": ("allocators", "own", "factorial", "commands", "no_deep_binding", "show_command"),
    "What is run": (
        *("suite", "experiments", "all_publications", "scale", "fits"),
        *("source", "prepare", "cleanup", "warm", "memory_limit", "time_limit", "pinned", "slices", "seed"),
    ),
    "Servers": tuple(FIELDS),
    "Traces": replay_options.NAMES,
    "Budget": ("budget", "precision", "resume"),
    "Output": ("output", "quiet", "as_json"),
}


@click.command(cls=ProgramOrTraceCommand, groups=GROUPS, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[TRACE | -- PROGRAM [ARGS]...]")
@SUITE
@EXPERIMENT
@click.option(
    "--all-publications",
    is_flag=True,
    help="Every figure of the publications, or those of --experiment; the same command goes on.",
)
@click.option("--scale", type=click.Choice(["quick", "full"]), help="Minutes on two cores, or as published.")
@click.option(
    "--input",
    "source",
    type=PLACE,
    metavar="FILE",
    help="File that each run reads as its standard input.  [default: < FILE]",
)
@click.option(
    "--arm",
    "commands",
    multiple=True,
    type=GIVEN_COMMAND,
    help="A command to compare with others: NAME='[SETTING=VALUE]... PROGRAM [ARGS]...'.",
)
@NO_DEEP_BINDING
@click.option("--fit", "fits", is_flag=True, help="Find the least memory limits that PROGRAM needs.")
@taking(HOOKS, SERVER_OPTIONS, replay_options.REPLAY_OPTIONS, ARMS, HOW)
@click.pass_obj
def compare(extra: tuple[Path, ...], /, all_publications: bool, **options: Any) -> int:
    """Compare allocators on experiments, on PROGRAM, its trace or its twin; or compare commands.

    The allocators are the ready-made ones found here, compared with the C library's.

    \b
    Examples:
      heaplab compare
      heaplab compare --allocators glibc,jemalloc --budget 30s -- python3 -c 'print(1)'
      heaplab compare --experiment acdc-ismm13/fig10 --allocators glibc,jemalloc,tcmalloc -o out/acdc
      heaplab compare --input words.txt --budget 30s -- sort --numeric-sort
      heaplab compare --allocators glibc,jemalloc --show-command -- ls -l
      heaplab compare --allocator mine=./libmine.so --budget 2m
      heaplab compare --allocator 'one=glibc MALLOC_ARENA_MAX=1' --budget 10s -- ls -l
      heaplab compare --factorial 'glibc MALLOC_ARENA_MAX=|1 thp=|never' --budget 10s -- ls -l
      heaplab compare --arm old='ls -l' --arm new='ls -l --color' --budget 10s
      heaplab compare --ready tcp:{port} --load 'redis-benchmark -p {port} -t set' --take redis-benchmark \\
        --idle 1s --allocators jemalloc,tcmalloc --budget 1m -- redis-server --port {port}
    """
    begin(options)
    exit_status.refuse_small_address_space()
    from heaplab.comparison import run_compare, run_publications

    options["experiments"] = [name for names in options["experiments"] for name in names]
    serving, replaying = given_among(options, FIELDS), given_among(options, replay_options.NAMES)
    of_subject = {name: options.pop(name) for name in Subject.ASKED}
    subject = Subject(serving=serving, replaying=replaying, **of_subject)
    if all_publications:
        return run_publications.run_all(extra, subject, ComparisonOptions(**options))
    return run_compare.compare(extra, subject, ComparisonOptions(**options))
