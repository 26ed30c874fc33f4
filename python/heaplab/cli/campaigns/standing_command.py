"""`heaplab standing`: its options; what it does, nightly.py, is loaded when called."""

from pathlib import Path

import click

from heaplab.cli.options.measuring_options import ALLOCATORS, QUIET, SUITE
from heaplab.cli.options.option_types import DURATION, OUTPUT_FOLDER
from heaplab.cli.screen import exit_status


@click.command()
@ALLOCATORS
@SUITE
@click.option("--budget", type=DURATION, default="1h", help="Stop measuring after this time.")
@click.option(
    "--pinned", is_flag=True, help="The versions of the catalog: look for no newer ones on the registries."
)
@click.option(
    "-o", "--output", type=OUTPUT_FOLDER, default=Path("standing"), help="Folder of campaigns and site."
)
@QUIET
@click.pass_obj
def standing(
    extra: tuple[Path, ...],
    allocators: str | None,
    suite: str | None,
    budget: float,
    output: Path,
    quiet: bool,
    pinned: bool,
) -> int:
    """Measure each night, add that to an atlas and tell what changed.

    The newest releases of what the catalog names are obtained, as wheels and as crates, and all is measured
    by aspect. Each call adds a campaign to OUTPUT/campaigns, or finishes one that was interrupted, and writes
    the atlas of all of them to OUTPUT/site. OUTPUT/catalog has the newer releases: delete a file there to go
    back.

    \b
    Example:
      heaplab standing --allocators glibc,jemalloc --budget 20s -o standing
    """
    exit_status.refuse_small_address_space()
    from heaplab.cli.campaigns import nightly

    return nightly.standing(extra, allocators, suite, budget, output, quiet, pinned)
