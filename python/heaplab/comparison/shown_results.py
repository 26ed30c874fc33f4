"""Shows the results of a campaign on the terminal, as JSON, and as a page."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from heaplab import analysis
from heaplab.errors import HeaplabError
from heaplab.report.machine_readable import json_summary
from heaplab.report.terminal import summary_text
from heaplab.report.terminal.tuned import Tuned, plain_tuned, print_tuned
from heaplab.results import store
from heaplab.results.records import Run, Status
from heaplab.screen import exit_status
from heaplab.screen.console import console
from heaplab.screen.notes import note

REPORT_NAME = "report.html"


def tell(path: Path, *, quiet: bool, as_json: bool, tuned: Tuned | None = None, stopped: bool = False) -> int:
    """Print the summary and write the page beside the results; return 1 if a planned run gave no figure.

    `tuned` tells which settings a tuning tried before this confirmation. Where measuring was stopped, no page
    is drawn, and 1 returned. Raises HeaplabError if no run gave a figure, all for the same reason.
    """
    results = load(path)
    if not results.runs:
        raise HeaplabError(f"{results.path}: nothing was measured")
    reasons = {run.reason for run in results.runs}
    if len(reasons) == 1 and not any(run.status is Status.OK for run in results.runs):
        raise HeaplabError(f"{results.path}: no run gave a figure: {reasons.pop()}")
    measured = analysis.Analysis(results)
    page = results.path.parent / REPORT_NAME
    fault = None if stopped else drawn(measured, page)
    if as_json:
        tuned_part = {"tune": plain_tuned(tuned, measured)} if tuned else {}
        click.echo(json.dumps(json_summary.as_plain(measured) | tuned_part))
    else:
        summary_text.print_summary(measured, console())
        if tuned:
            print_tuned(measured, console())
        report = f"`heaplab report {results.path.parent}` draws it" if stopped else page
        click.echo(f"\n{page}" if quiet else f"\nreport: {report}\nresults: {results.path}")
    if fault:
        raise fault
    return 1 if stopped or without_figure(results.runs) else 0


def drawn(measured: analysis.Analysis, page: Path) -> HeaplabError | None:
    """Write the page. Returns why that failed, because the summary is printed nevertheless."""
    from heaplab.report.page import report_page  # imports matplotlib, which measuring does not need

    try:
        report_page.write_html([measured], page)
    except HeaplabError as error:
        return error
    return None


def load(path: Path) -> store.Results:
    exit_status.refuse_small_address_space()
    results = store.load(path)
    for line in store.remarks(results):
        note(line)
    return results


def without_figure(runs: Sequence[Run]) -> list[Run]:
    """The last attempt of every planned run that gave no figure."""
    last = {(run.key, run.block, run.allocator): run for run in runs}
    return [run for run in last.values() if run.status is not Status.OK]
