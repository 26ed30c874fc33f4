"""`heaplab export`: results as a table for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from heaplab import analysis, report
from heaplab.cli.options.option_types import FILE, PLACE
from heaplab.cli.reading.results import load, refuse_unwritable
from heaplab.errors import UsageError

SUFFIXES = CSV, MARKDOWN, PARQUET = ".csv", ".md", ".parquet"


@click.command()
@click.argument("results", nargs=-1, required=True, type=PLACE, metavar="RESULTS...")
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="File to write: its suffix .csv, .md or .parquet says what.  [default: CSV]",
)
@click.option(
    "--what",
    type=click.Choice(["cells", "runs"]),
    default="cells",
    help="A row for each cell and metric, with interval and verdict; or for each run and metric.",
    show_default=True,
)
def export(results: tuple[Path, ...], output: Path | None, what: str) -> None:
    """Write results as a table: CSV, Parquet or Markdown.

    RESULTS are results files or folders they lie in; several become one table. Every row names its unit.
    docs/guide.md says what the columns hold; in Parquet their metadata does.

    \b
    Examples:
      heaplab export out/compare -o cells.csv
      heaplab export out/compare --what runs
    """
    suffix = output.suffix if output else CSV
    if suffix not in SUFFIXES:
        raise UsageError(f"{output}: its suffix is none of {', '.join(SUFFIXES)}")
    if output:
        refuse_unwritable(output)
    rows, columns = report.rows_of([analysis.Analysis(load(path)) for path in results], what)
    if output and suffix == PARQUET:
        report.write_parquet(rows, columns, output)
    else:
        text = (report.as_markdown_table if suffix == MARKDOWN else report.as_csv)(rows, columns)
        if output is None:
            click.echo(text, nl=False)
            return
        output.write_text(text, encoding="utf-8")
    click.echo(output)
