"""`heaplab cluster plan`: one experiment on many machines, as shards."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.measuring_options import ALLOCATORS, EXPERIMENT, OWN_ALLOCATOR, QUIET, SUITE
from heaplab.options.option_types import DURATION, FOLDER, OUTPUT_FOLDER, PLACE, SEED, SHARE
from heaplab.options.program_command import ProgramCommand, file_and_options
from heaplab.screen import exit_status


class PlanCommand(ProgramCommand):
    """A plan of a TOML file, or of options and a program. Options may stand before and behind the file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        source, options = file_and_options(self, ctx, args, ".toml")
        return super().parse_args(ctx, [*options, "--toml", source] if source else args)


@click.command(cls=PlanCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[FILE.toml | -- PROGRAM [ARGS]...]")
@click.option("--toml", "source", type=PLACE, hidden=True, help="The TOML file.")
@click.option("-o", "--output", type=OUTPUT_FOLDER, default=Path("plan"), help="Folder of the plan.")
@SUITE
@EXPERIMENT
@click.option(
    "--scale",
    type=click.Choice(["quick", "full"]),
    help="Minutes on two cores, or as published.  [default: quick]",
)
@ALLOCATORS
@OWN_ALLOCATOR
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="'NAME [nodes=N] [cpus=all|cores|node|fast] [architecture=A] [partition=P] ...'",
    help="A kind of machine, and how many of it.  [default: 'node nodes=1']",
)
@click.option("--blocks", type=click.IntRange(2, 999), help="Blocks of every comparison on a node.")
@click.option("--budget", type=DURATION, help="Stop measuring on a node after this time: 90s, 5m.")
@click.option(
    "--shards",
    type=click.IntRange(1),
    help="How many shards the plan has, of all nodes together; each has a part of a node's blocks or budget. "
    "Short shards lose less when a node is taken away.  [default: one for each node]",
)
@click.option(
    "--thread-counts",
    type=click.Choice(["all"]),
    help="Replace swept numbers of threads by 1, 2, 4 ... all CPUs of the node, each on the CPUs that the "
    "topology gives it.",
)
@click.option("--precision", type=SHARE, help="Repeat until ratios are this precise.  [default: 2%]")
@click.option("--seed", type=SEED, help="Seed of every random choice.  [default: 1]")
@click.option("--bundle", is_flag=True, default=None, help="Put the libraries of the arms into the plan.")
@click.option(
    "--add-build",
    "builds",
    multiple=True,
    metavar="NAME=LIBRARY",
    help="Put one more build of an arm into the bundle: for another architecture or C library.",
)
@click.option(
    "--wheels",
    type=FOLDER,
    help="Put the wheels in this folder, heaplab's and what it needs, into the bundle.",
)
@QUIET
@click.pass_obj
def plan(extra: tuple[Path, ...], /, **options: Any) -> int:
    """Plan one experiment on many machines, as shards that any engine can carry out.

    A plan is a folder. A run of every arm decides here how all shards are timed. `heaplab cluster run`
    carries out one shard of it anywhere, `heaplab cluster merge` puts together what came back. A TOML
    file has the words of the options: docs/from-a-laptop-to-a-cluster.md.

    \b
    Examples:
      heaplab cluster plan -o plan/ --allocators glibc,jemalloc --blocks 2 --machine laptop
      heaplab cluster plan --machine 'epyc nodes=4' -o plan-ls/ --allocators glibc,jemalloc -- ls -l
    """
    exit_status.refuse_small_address_space()
    from heaplab.cluster import run_plan

    options["experiments"] = [name for names in options["experiments"] for name in names]
    return run_plan.make_plan(extra, **options)
