"""`heaplab cluster status`, `fetch` and `cancel`: what an engine has of a plan."""

from pathlib import Path

import click

from heaplab.cluster.engines import ENGINES
from heaplab.options.option_types import FOLDER

PLAN = click.argument("folder", type=FOLDER, metavar="PLAN")
ON = click.option(
    "--on", required=True, type=click.Choice(list(ENGINES)), help="What carries out the shards."
)


@click.command()
@PLAN
@ON
def status(folder: Path, on: str) -> int:
    """Tell which shards are complete, running, waiting or missing; exit status 0 when all are complete.

    \b
    Example:
      heaplab cluster status plan/ --on slurm
    """
    from heaplab.cluster import run_engine

    return run_engine.status(folder, on)


@click.command()
@PLAN
@ON
def fetch(folder: Path, on: str) -> None:
    """Bring results into the folder of the plan.

    \b
    Example:
      heaplab cluster fetch plan/ --on slurm
    """
    from heaplab.cluster import run_engine

    run_engine.fetch(folder, on)


@click.command()
@PLAN
@ON
def cancel(folder: Path, on: str) -> None:
    """Stop what the engine holds; what was measured stays, and submit goes on from there.

    \b
    Example:
      heaplab cluster cancel plan/ --on slurm
    """
    from heaplab.cluster import run_engine

    run_engine.cancel(folder, on)
