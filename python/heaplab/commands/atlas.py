"""`heaplab atlas`: a site over many results files, and one more campaign for it each night."""

from pathlib import Path

import click
from click.core import ParameterSource

from heaplab.errors import UsageError
from heaplab.options.measuring_options import ALLOCATORS, QUIET, SUITE
from heaplab.options.option_types import DURATION, OUTPUT_FOLDER, PLACE
from heaplab.screen import exit_status

OF_NIGHTS = {"allocators": "--allocators", "suite": "--suite", "budget": "--budget", "pinned": "--pinned"}


@click.command()
@click.argument("results", nargs=-1, type=PLACE, metavar="[RESULTS]...")
@click.option("-o", "--output", type=OUTPUT_FOLDER, help="Folder of the site.  [default: site; nights]")
@click.option(
    "--nightly",
    is_flag=True,
    help="Measure, add that to the campaigns in the folder, write the atlas of all, tell what changed.",
)
@ALLOCATORS
@SUITE
@click.option("--budget", type=DURATION, default="1h", help="With --nightly: stop measuring after this time.")
@click.option(
    "--pinned", is_flag=True, help="With --nightly: look for no newer versions than those of the catalog."
)
@QUIET
@click.pass_context
def atlas(
    context: click.Context,
    results: tuple[Path, ...],
    output: Path | None,
    nightly: bool,
    allocators: str | None,
    suite: str | None,
    budget: float,
    pinned: bool,
    quiet: bool,
) -> int:
    """Write a site about many results; or measure each night and tell what changed.

    Each allocator, workload and machine has a page, over time and version. RESULTS are results files or
    folders they lie in. The pages open from files, without a server. What got worse from one build of an
    allocator to the next is named by the rule of `heaplab gate`.

    With --nightly the newest releases of what the catalog names are obtained, as wheels and as crates. Each
    call adds a campaign to OUTPUT/campaigns, or finishes one that was interrupted, and writes the atlas to
    OUTPUT/site. OUTPUT/catalog has the newer releases: delete a file there to go back.

    \b
    Examples:
      heaplab atlas out/compare -o site
      heaplab atlas --nightly --allocators glibc,jemalloc --budget 20s -o nights
    """
    exit_status.refuse_small_address_space()
    if nightly:
        from heaplab.comparison import run_nightly as nights

        if results:
            raise UsageError(f"atlas: --nightly measures, it reads no results: {results[0]}")
        return nights.add_night(
            context.obj, allocators, suite, budget, output or Path("nights"), quiet, pinned
        )
    given = [name for name in OF_NIGHTS if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given or not results:
        said = f"{OF_NIGHTS[given[0]]} goes with --nightly" if given else "name results, or give --nightly"
        raise UsageError(f"atlas: {said}")
    from heaplab.atlas import run_atlas

    return run_atlas.atlas(results, output or Path("site"), quiet=quiet)
