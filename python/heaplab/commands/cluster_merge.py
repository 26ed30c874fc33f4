"""`heaplab cluster merge`: put together what came back of a plan."""

from pathlib import Path

import click

from heaplab.options.option_types import OUTPUT_FOLDER, PLACE
from heaplab.screen import exit_status


@click.command()
@click.argument("plan", type=PLACE)
@click.option(
    "-o", "--output", type=OUTPUT_FOLDER, help="Folder for report and JSON.  [default: PLAN/merged]"
)
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
def merge(plan: Path, output: Path | None, as_json: bool) -> int:
    """Put together what came back of PLAN: ratios on each host, then over hosts.

    Results are verified, and a shard that ran twice counts once. What is missing, differs between hosts of
    one kind or was disturbed is named. Status 1: a shard is missing or not complete, and the rest is merged.

    \b
    Example:
      heaplab cluster merge plan/ -o out/merged
    """
    exit_status.refuse_small_address_space()
    from heaplab.cluster import run_merge

    return run_merge.merge(plan, output, as_json=as_json)
