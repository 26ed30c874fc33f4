"""`heaplab cluster run`: one shard of a plan, on this node."""

from pathlib import Path

import click

from heaplab.options.measuring_options import QUIET
from heaplab.options.option_types import PLACE
from heaplab.screen import exit_status


@click.command()
@click.argument("plan", type=PLACE)
@click.option("--shard", metavar="I/N", required=True, help="Which shard of how many: 3/8.")
@QUIET
@click.pass_obj
def run(extra: tuple[Path, ...], /, plan: Path, shard: str, quiet: bool) -> int:
    """Carry out one shard of PLAN on this node.

    What was begun here goes on where its results file ends; a shard that is complete, here or elsewhere, is
    not measured again. SIGTERM keeps what was measured. Status 0: the shard is complete; 1: it was
    interrupted, or a run gave no figure; 2: it cannot be carried out here.

    \b
    Example:
      heaplab cluster run plan/ --shard 1/1
    """
    exit_status.refuse_small_address_space()
    from heaplab.cluster import run_shard

    return run_shard.run_shard(extra, plan, shard, quiet)
