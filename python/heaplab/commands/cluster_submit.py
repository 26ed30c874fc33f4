"""`heaplab cluster submit`: the shards of a plan to an engine."""

from pathlib import Path

import click

from heaplab.cluster.engines import ENGINES, FORMS, Submission
from heaplab.options.option_types import FOLDER, output_file


@click.command()
@click.argument("folder", type=FOLDER, metavar="PLAN")
@click.option(
    "--on", required=True, type=click.Choice([*ENGINES, *FORMS]), help="What carries out the shards."
)
@click.option(
    "--hosts",
    default="",
    show_default=False,
    metavar="FILE|NAME,NAME...",
    help="With --on ssh: the hosts.  [default: those of the plan, or of the last submit]",
)
@click.option(
    "--copy-to",
    default="",
    show_default=False,
    metavar="DIR",
    help="With --on ssh: copy the plan to DIR on every host, for hosts that do not share its folder.",
)
@output_file("With --on reframe and github: FILE.  [default: standard output]")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS...]")
def submit(
    folder: Path, on: str, hosts: str, copy_to: str, output: Path | None, options: tuple[str, ...]
) -> None:
    """Start every shard of PLAN that is neither complete nor held by the engine.

    For ReFrame and the hosted runners of GitHub, a file is written that they carry out.
    OPTIONS go to sbatch or ssh: an account, a partition, a time limit, a key.

    \b
    Examples:
      heaplab cluster submit plan/ --on slurm -- --partition=epyc --time=2:00:00
      heaplab cluster submit plan/ --on ssh --hosts node1,node2 --copy-to /tmp
      heaplab cluster submit plan/ --on reframe -o heaplab_shards.py
    """
    from heaplab.cluster import run_engine

    run_engine.submit(folder, on, Submission(hosts, copy_to, options), output)
