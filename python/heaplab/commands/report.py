"""`heaplab report`: what results files say, as a page, a table, a forecast, or tested claims."""

from pathlib import Path
from typing import Any

import click

from heaplab.options.option_types import PLACE, output_file
from heaplab.screen import exit_status

FORMS = PAGE, TABLE, POWER, CLAIMS = "page", "table", "power", "claims"


@click.command()
@click.argument("results", nargs=-1, type=PLACE, metavar="RESULTS...")
@click.option(
    "--form",
    type=click.Choice(FORMS),
    help="What is written: see above.  [default: by the suffix of -o; else page]",
)
@output_file(
    "File of a page or table: .csv, .md and .parquet are tables.  [default: report.html beside the "
    "first; of a table standard output]"
)
@click.option(
    "--what",
    type=click.Choice(["cells", "runs"]),
    help="A row of a table for each cell and metric, with interval and verdict; or for each run and metric.  "
    "[default: cells]",
)
@click.option("--json", "as_json", is_flag=True, help="Print power or claims as JSON.")
def report(results: tuple[Path, ...], **options: Any) -> None:
    """Tell what results files say: a page, a table, a forecast, tested claims.

    RESULTS are results files, or folders they lie in.

    \b
    page     one HTML page; several results stand side by side, each relative to its own baseline
    table    CSV, Parquet or Markdown; every row names its unit, docs/guide.md the columns
    power    what RESULTS decided, how many more minutes the rest takes, which noise is in the way
    claims   what publications claim, tested; without RESULTS, on all that lie below out/

    \b
    Examples:
      heaplab report out/compare -o report.html
      heaplab report out/compare out/compare
      heaplab report out/compare -o cells.csv
      heaplab report out/compare --form power
      heaplab report out/acdc --form claims
    """
    exit_status.refuse_small_address_space()
    from heaplab.comparison import run_report

    run_report.report(results, run_report.ReportOptions(**options))
