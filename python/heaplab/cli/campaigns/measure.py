"""`heaplab compare` and `heaplab run`: their options; what they do, measuring.py, is loaded when called."""

from pathlib import Path
from typing import Any, Literal

import click

from heaplab.cli.options import replay_options
from heaplab.cli.options.arm_options import GIVEN_COMMAND, GivenCommand
from heaplab.cli.options.given_options import ComparisonOptions
from heaplab.cli.options.measuring_options import ARMS, HOW, NO_DEEP_BINDING, SUITE, given_among, taking
from heaplab.cli.options.option_types import PLACE
from heaplab.cli.options.program_command import ProgramOrTraceCommand
from heaplab.cli.options.server_options import FIELDS, SERVER_OPTIONS
from heaplab.cli.screen import exit_status
from heaplab.errors import UsageError


@click.command(cls=ProgramOrTraceCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGS]...]")
@SUITE
@click.option(
    "--input",
    "source",
    type=PLACE,
    metavar="FILE",
    help="File that each run reads as its standard input.  [default: < FILE, else nothing]",
)
@click.option(
    "--prepare", metavar="COMMAND", help="Shell command before each execution of PROGRAM, not measured."
)
@click.option(
    "--cleanup", metavar="COMMAND", help="Shell command after each execution of PROGRAM, not measured."
)
@click.option(
    "--arm",
    "commands",
    multiple=True,
    type=GIVEN_COMMAND,
    help="A command to compare with others, two at least: NAME='[SETTING=VALUE]... PROGRAM [ARGS]...'.",
)
@NO_DEEP_BINDING
@taking(SERVER_OPTIONS, replay_options.REPLAY_OPTIONS, ARMS, HOW)
@click.pass_obj
def compare(
    extra: tuple[Path, ...],
    /,
    program: tuple[str, ...],
    suite: str | None,
    source: Path | None,
    commands: tuple[GivenCommand, ...],
    **options: Any,
) -> int:
    """Compare allocators on a suite of experiments, or on PROGRAM or a trace of it; or compare commands.

    The allocators are the ready-made ones found here, compared with the C library's.

    \b
    Examples:
      heaplab compare
      heaplab compare --allocators glibc,jemalloc --budget 30s -- python3 -c 'print(1)'
      heaplab compare --input words.txt --budget 30s -- sort --numeric-sort
      heaplab compare --prepare 'rm -rf cache' --budget 10s --allocators glibc,jemalloc -- ls -l
      heaplab compare --allocators glibc,jemalloc --show-command -- ls -l
      heaplab compare --allocator mine=./libmine.so --budget 2m
      heaplab compare --allocator 'one=glibc MALLOC_ARENA_MAX=1' --budget 10s -- ls -l
      heaplab compare --factorial 'glibc MALLOC_ARENA_MAX=|1 thp=|never' --budget 10s -- ls -l
      heaplab compare --arm old='ls -l' --arm new='ls -l --color' --budget 10s
      heaplab compare --ready tcp:{port} --load 'redis-benchmark -p {port} -t set' --take redis-benchmark \\
        --idle 1s --allocators jemalloc,tcmalloc --budget 1m -- redis-server --port {port}
    """
    exit_status.refuse_small_address_space()
    from heaplab.cli.campaigns import measuring

    serving, replaying = given_among(options, FIELDS), given_among(options, replay_options.NAMES)
    asked = ComparisonOptions(**options)
    return measuring.compare(extra, program, suite, source, commands, serving, replaying, asked)


@click.command()
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...")
@click.option(
    "--all-publications",
    is_flag=True,
    help="Every figure of the publications, or those of EXPERIMENT..., after a forecast of the time; the "
    "same command goes on.",
)
@click.option(
    "--scale",
    type=click.Choice(["quick", "full"]),
    help="Minutes on two cores, or as published.  [default: quick; with --all-publications and --budget the "
    "largest that fits]",
)
@taking(replay_options.REPLAY_OPTIONS, ARMS, HOW)
@click.pass_obj
def run(
    extra: tuple[Path, ...],
    /,
    experiments: tuple[str, ...],
    all_publications: bool,
    scale: Literal["quick", "full"] | None,
    **options: Any,
) -> int:
    """Run experiments by id, group or glob of ids, or a trace; `heaplab list experiments` names them.

    With --all-publications every experiment of a publication is a campaign in a folder of its own, and
    reproduction.md says figure by figure what holds. A budget is that of this call: what has no result yet
    comes first, each experiment at the largest scale that fits its share, under the allocators that its
    sentences speak of.

    \b
    Examples:
      heaplab run acdc-ismm13/fig10
      heaplab run acdc-ismm13 --scale full --allocators glibc,jemalloc,tcmalloc -o out/acdc
    """
    exit_status.refuse_small_address_space()
    from heaplab.cli.campaigns import measuring

    replaying = given_among(options, replay_options.NAMES)
    if all_publications:
        from heaplab.cli.campaigns import publications

        if replaying:
            raise UsageError("--all-publications takes no trace")
        return publications.run_all(extra, experiments, scale, ComparisonOptions(**options))
    return measuring.run(extra, experiments, scale or "quick", replaying, ComparisonOptions(**options))
