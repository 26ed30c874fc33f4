"""`heaplab atlas`: a site over many results files."""

from pathlib import Path

import click

from heaplab.cli.options.measuring_options import QUIET
from heaplab.cli.options.option_types import OUTPUT_FOLDER, PLACE
from heaplab.cli.screen import exit_status
from heaplab.cli.screen.step_display import StepDisplay


@click.command()
@click.argument("results", nargs=-1, required=True, type=PLACE, metavar="RESULTS...")
@click.option("-o", "--output", type=OUTPUT_FOLDER, default=Path("site"), help="Folder of the site.")
@QUIET
def atlas(results: tuple[Path, ...], output: Path, quiet: bool) -> None:
    """Write a site about many results.

    Each allocator, workload and machine has a page, over time and version. RESULTS are results files or
    folders they lie in. The pages open from files, without a server. What got worse from one build of an
    allocator to the next is named by the rule of `heaplab gate`.

    \b
    Example:
      heaplab atlas out/compare -o site
    """
    exit_status.refuse_small_address_space()
    from heaplab.atlas import atlas_files
    from heaplab.atlas.many_campaigns import gathered
    from heaplab.text import units

    if quiet:
        click.echo(atlas_files.write(gathered(results), output))
        return
    with StepDisplay("atlas") as display:
        display.tell(f"reading {units.counted(len(results), 'results file')}")
        read = gathered(results)
        display.tell("drawing pages")
        page = atlas_files.write(read, output)
    click.echo(page)
