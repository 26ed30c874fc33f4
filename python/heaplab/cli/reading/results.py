"""The results of a campaign on the terminal, as JSON, as a page; `heaplab report`, `heaplab claims`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from heaplab import analysis, claims as published, report as reports
from heaplab.campaign import plan, store
from heaplab.cli.options.option_types import FILE, PLACE
from heaplab.cli.screen import exit_status
from heaplab.cli.subjects.selection import note
from heaplab.console import console
from heaplab.errors import HeaplabError, UsageError
from heaplab.records import Run, Status

REPORT_NAME = "report.html"


def tell(path: Path, *, quiet: bool, as_json: bool, tuned: "reports.Tuned | None" = None) -> int:
    """Print the summary and write the page beside the results; return 1 if a planned run gave no figure.

    `tuned`: what came before a confirmation. Raises HeaplabError if all that came out is one reason why there
    are no figures.
    """
    results = load(path)
    reasons = {run.reason for run in results.runs}
    if len(reasons) == 1 and not any(run.status is Status.OK for run in results.runs):
        raise HeaplabError(f"{results.path}: no run gave a figure: {reasons.pop()}")
    measured = analysis.Analysis(results)
    page, fault = results.path.parent / REPORT_NAME, None
    try:
        reports.write_html([measured], page)
    except HeaplabError as error:
        fault = error  # what was measured is told all the same
    if as_json:
        found = {"tune": reports.plain_tuned(tuned, measured)} if tuned else {}
        click.echo(json.dumps(reports.as_plain(measured) | found))
    else:
        reports.print_summary(measured, console())
        if tuned:
            reports.print_tuned(measured, console())
        click.echo(f"\n{page}" if quiet else f"\nreport: {page}\nresults: {results.path}")
    if fault:
        raise fault
    return 1 if without_figure(results.runs) else 0


def load(path: Path) -> store.Results:
    exit_status.refuse_small_address_space()
    results = store.load(path)
    if results.unreadable:
        note(store.left_out(results.path, results.unreadable))
    return results


def without_figure(runs: Sequence[Run]) -> list[Run]:
    """The last attempt of every planned run that gave no figure."""
    last = {(plan.run_key(run), run.block, run.allocator): run for run in runs}
    return [run for run in last.values() if run.status is not Status.OK]


@click.command()
@click.argument("results", nargs=-1, required=True, type=PLACE, metavar="RESULTS...")
@click.option("-o", "--output", type=FILE, help="File to write.  [default: report.html beside the first]")
def report(results: tuple[Path, ...], output: Path | None) -> None:
    """Write one HTML page about results files, or folders they lie in.

    Results of several machines stand side by side, each relative to its own baseline; so do those of one
    machine at different times, with a warning.

    \b
    Examples:
      heaplab report out/compare -o report.html
      heaplab report out/compare out/compare
    """
    read = [load(path) for path in results]
    page = output or read[0].path.parent / REPORT_NAME
    refuse_unwritable(page)
    analyses = [analysis.Analysis(item) for item in read]
    if said := reports.warning(analyses):
        note(said)
    reports.write_html(analyses, page)
    click.echo(page)


def refuse_unwritable(page: Path) -> None:
    """Raise UsageError if the page cannot be written, before figures are drawn."""
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{page}: cannot be written: {error.strerror}") from error
    if page.is_dir() or not os.access(page if page.exists() else page.parent, os.W_OK):
        raise UsageError(f"{page}: cannot be written")


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
    paths = results or tuple(sorted(Path("out").glob(f"*/{store.FILE_NAME}")))
    if not paths:
        raise UsageError("claims: no results below out/; `heaplab run EXPERIMENT` makes some")
    read = [load(path) for path in paths]
    outcomes = [outcome for item in read for outcome in published.evaluate(analysis.Analysis(item))]
    if as_json:
        rows = [
            {"experiment": item.experiment, "says": item.says, "result": item.result, "figures": item.figures}
            for item in outcomes
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    reports.print_claims(outcomes, console())
    held = sum(outcome.result is published.ClaimResult.HOLDS for outcome in outcomes)
    click.echo(f"{held} of {len(outcomes)} hold here")
