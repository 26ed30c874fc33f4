"""`heaplab report`, `power`, `export` and `claims`: commands that read results and measure nothing.

A command imports the modules that compute when it is called, so that help and completion stay fast.
"""

import json
from pathlib import Path

import click

from heaplab.cli.benchmarks.selection import note
from heaplab.cli.options.option_types import DEFAULT_PARENT, OUTPUT_FILE, PLACE
from heaplab.cli.screen import exit_status
from heaplab.errors import UsageError

SUFFIXES = CSV, MARKDOWN, PARQUET = ".csv", ".md", ".parquet"


@click.command()
@click.argument("results", nargs=-1, required=True, type=PLACE, metavar="RESULTS...")
@click.option(
    "-o", "--output", type=OUTPUT_FILE, help="File to write.  [default: report.html beside the first]"
)
def report(results: tuple[Path, ...], output: Path | None) -> None:
    """Write one HTML page about results files, or folders they lie in.

    Results of several machines stand side by side, each relative to its own baseline; so do those of one
    machine at different times, with a warning.

    \b
    Examples:
      heaplab report out/compare -o report.html
      heaplab report out/compare out/compare
    """
    exit_status.refuse_small_address_space()
    from heaplab import analysis
    from heaplab.cli.reading.shown_results import REPORT_NAME, load
    from heaplab.report.page import hosts, report_page

    read = [load(path) for path in results]
    page = output or read[0].path.parent / REPORT_NAME
    OUTPUT_FILE.refuse_unwritable(page)
    analyses = [analysis.Analysis(item) for item in read]
    if said := hosts.warning(analyses):
        note(said)
    report_page.write_html(analyses, page)
    click.echo(page)


@click.command()
@click.argument("results", type=PLACE, metavar="RESULTS")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def power(results: Path, as_json: bool) -> None:
    """Tell what RESULTS decided, how many more minutes the rest takes, and which noise is in the way.

    \b
    Examples:
      heaplab power out/compare
      heaplab power out/compare --json
    """
    exit_status.refuse_small_address_space()
    from heaplab import analysis
    from heaplab.cli.reading.shown_results import load
    from heaplab.console import console
    from heaplab.report.tables import power_table

    measured = analysis.Analysis(load(results))
    if not measured.results.runs:
        raise UsageError(f"{measured.results.path}: holds no run yet")
    if as_json:
        click.echo(json.dumps(power_table.plain_power(measured)))
    else:
        power_table.print_power(measured, console())


@click.command()
@click.argument("results", nargs=-1, required=True, type=PLACE, metavar="RESULTS...")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    help="File to write: its suffix .csv, .md or .parquet says what.  [default: CSV]",
)
@click.option(
    "--what",
    type=click.Choice(["cells", "runs"]),
    default="cells",
    help="A row for each cell and metric, with interval and verdict; or for each run and metric.",
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
    exit_status.refuse_small_address_space()
    from heaplab import analysis
    from heaplab.cli.reading.shown_results import load
    from heaplab.report.machine_readable.export import as_csv, as_markdown_table, rows_of, write_parquet

    suffix = output.suffix if output else CSV
    if suffix not in SUFFIXES:
        raise UsageError(f"{output}: its suffix is none of {', '.join(SUFFIXES)}")
    rows, columns = rows_of([analysis.Analysis(load(path)) for path in results], what)
    if output and suffix == PARQUET:
        write_parquet(rows, columns, output)
    else:
        text = (as_markdown_table if suffix == MARKDOWN else as_csv)(rows, columns)
        if output is None:
            click.echo(text, nl=False)
            return
        output.write_text(text, encoding="utf-8")
    click.echo(output)


@click.command()
@click.argument("results", nargs=-1, type=PLACE, metavar="[RESULTS]...")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def claims(results: tuple[Path, ...], as_json: bool) -> None:
    """Test what publications claim against results; without RESULTS, all that lie below out/.

    \b
    Examples:
      heaplab run acdc-ismm13 -o out/acdc
      heaplab claims out/acdc
    """
    exit_status.refuse_small_address_space()
    from heaplab import analysis, claims as published
    from heaplab.cli.reading.shown_results import load
    from heaplab.console import console
    from heaplab.report.terminal import summary_text
    from heaplab.results import store

    paths = results or tuple(sorted(DEFAULT_PARENT.glob(f"*/{store.FILE_NAME}")))
    if not paths:
        raise UsageError("claims: no results below out/; `heaplab run EXPERIMENT` makes some")
    read = [load(path) for path in paths]
    outcomes = [outcome for item in read for outcome in published.evaluate(analysis.Analysis(item))]
    if as_json:
        rows = [
            {
                "experiment": item.experiment,
                "says": item.says,
                "result": item.result,
                "results": item.results,
                "figures": item.figures,
            }
            for item in outcomes
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    summary_text.print_claims(outcomes, console())
    held = sum(outcome.result is published.ClaimResult.HOLDS for outcome in outcomes)
    click.echo(f"{held} of {len(outcomes)} hold here")
