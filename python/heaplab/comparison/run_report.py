"""What `heaplab report` does: it reads results and measures nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from heaplab import analysis
from heaplab.analysis import claims as published
from heaplab.comparison.shown_results import REPORT_NAME, load
from heaplab.errors import UsageError
from heaplab.options.option_types import DEFAULT_PARENT, OUTPUT_FILE
from heaplab.report.machine_readable import export
from heaplab.report.page import hosts, report_page
from heaplab.report.tables import power_table
from heaplab.report.terminal import summary_text
from heaplab.results import store
from heaplab.screen.console import console
from heaplab.screen.notes import note

SUFFIXES = CSV, MARKDOWN, PARQUET = ".csv", ".md", ".parquet"


@dataclass(frozen=True)
class ReportOptions:
    """None: the user gave no value."""

    form: str | None
    output: Path | None
    what: str | None  # of a table: what a row is
    as_json: bool

    @property
    def chosen(self) -> str:
        is_table = self.output is not None and self.output.suffix in SUFFIXES
        return self.form or ("table" if is_table else "page")


def report(results: Sequence[Path], options: ReportOptions) -> None:
    """Write the results in the form that is asked for. Raises UsageError for options of another form."""
    form = options.chosen
    if options.output and form not in ("page", "table"):
        raise UsageError(f"report: -o goes with the forms page and table, not with {form}")
    if options.what and form != "table":
        raise UsageError(f"report: --what goes with the form table, not with {form}")
    if options.as_json and form not in ("power", "claims"):
        raise UsageError(f"report: --json goes with the forms power and claims, not with {form}")
    if not results and form != "claims":
        raise UsageError("report: name results files, or folders they lie in")
    match form:
        case "page":
            page(results, options.output)
        case "table":
            table(results, options.output, options.what or "cells")
        case "power":
            power(results, as_json=options.as_json)
        case _:
            claims(results, as_json=options.as_json)


def page(results: Sequence[Path], output: Path | None) -> None:
    read = [load(path) for path in results]
    written = output or read[0].path.parent / REPORT_NAME
    OUTPUT_FILE.refuse_unwritable(written)
    analyses = [analysis.Analysis(item) for item in read]
    if said := hosts.warning(analyses):
        note(said)
    report_page.write_html(analyses, written)
    click.echo(written)


def table(results: Sequence[Path], output: Path | None, what: str) -> None:
    suffix = output.suffix if output else CSV
    if suffix not in SUFFIXES:
        raise UsageError(f"{output}: its suffix is none of {', '.join(SUFFIXES)}")
    rows, columns = export.rows_of([analysis.Analysis(load(path)) for path in results], what)
    if output and suffix == PARQUET:
        export.write_parquet(rows, columns, output)
    else:
        text = (export.as_markdown_table if suffix == MARKDOWN else export.as_csv)(rows, columns)
        if output is None:
            click.echo(text, nl=False)
            return
        output.write_text(text, encoding="utf-8")
    click.echo(output)


def power(results: Sequence[Path], *, as_json: bool) -> None:
    if len(results) > 1:
        raise UsageError("report: the form power takes one results file")
    measured = analysis.Analysis(load(results[0]))
    if not measured.results.runs:
        raise UsageError(f"{measured.results.path}: holds no run yet")
    if as_json:
        click.echo(json.dumps(power_table.plain_power(measured)))
    else:
        power_table.print_power(measured, console())


def claims(results: Sequence[Path], *, as_json: bool) -> None:
    paths = results or sorted(DEFAULT_PARENT.glob(f"*/{store.FILE_NAME}"))
    if not paths:
        raise UsageError("report: no results below out/; `heaplab compare --experiment ID` makes some")
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
