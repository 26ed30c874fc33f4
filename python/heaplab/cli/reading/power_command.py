"""`heaplab power`: what results decided, and what more measuring would decide."""

import json
from pathlib import Path

import click

from heaplab import analysis, report
from heaplab.cli.options.option_types import PLACE
from heaplab.cli.reading.results import load
from heaplab.console import console
from heaplab.errors import UsageError


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
    measured = analysis.Analysis(load(results))
    if not measured.results.runs:
        raise UsageError(f"{measured.results.path}: holds no run yet")
    if as_json:
        click.echo(json.dumps(report.plain_power(measured)))
    else:
        report.print_power(measured, console())
