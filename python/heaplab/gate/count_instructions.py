"""Counts the instructions of a gate under callgrind, in a separate campaign."""

from dataclasses import replace
from pathlib import Path

import click

from heaplab.campaign import begin_or_resume as campaigns, plan
from heaplab.campaign.begin_or_resume import Request
from heaplab.comparison.benchmark import with_note
from heaplab.comparison.run_campaign import TO_GO_ON, interrupted, opened_for, run_campaign
from heaplab.errors import HeaplabError
from heaplab.machine import callgrind
from heaplab.machine.purge_timers import without_timers
from heaplab.options.given_options import GateOptions
from heaplab.results import store
from heaplab.results.records import Run, Status
from heaplab.results.store import Results
from heaplab.screen.notes import note

FOLDER = "callgrind"  # within the folder of the gate
BLOCKS = 3  # counts vary little: they need fewer blocks than times, but enough to see whether they vary
LONGER = 1.5  # times its share of the budget that a run may take, since other programs may delay a run
NOTE = "Runs were carried out under callgrind: only their instructions mean something."


def counted(request: Request, folder: Path, options: GateOptions, share: float) -> list[Path]:
    """The results file of the counts; empty if nothing can be counted.

    Raises HeaplabError without valgrind, or if counting ended early, and Exit if the user interrupted it.

    `share` is the request's part of the user's budget.
    """
    if absent := callgrind.why_absent():
        raise HeaplabError(f"gate: {absent}")
    request = counting(request)
    if not plan.comparisons(campaigns.campaign_of(request)):
        note("nothing is counted under callgrind: no cell has one thread and a fixed amount of work")
        return []
    opened, needed = opened_for(request, folder / FOLDER, replace(options, output=None), share)
    stopped = run_campaign(opened, needed, options, TO_GO_ON)
    if stopped == interrupted(TO_GO_ON):
        raise click.exceptions.Exit(1)
    if stopped:  # it was told
        raise HeaplabError("gate: counting under callgrind has ended early")
    results = store.load(opened.store.path)
    reasons = (f"{run.experiment}: {run.reason}" for run in results.runs if is_uncounted(results, run))
    for reason in dict.fromkeys(reasons):
        note(f"not counted under callgrind: {reason}")
    return [opened.store.path]


def counting(request: Request) -> Request:
    changed = replace(
        request,
        experiments=[item.with_blocks(BLOCKS) for item in request.experiments],
        libraries=[without_timers(arm) for arm in request.libraries],
        warm=0,
        instructions="callgrind",
    )
    return with_note(replace(changed, time_limit=time_limit_of(changed)), NOTE)


def time_limit_of(request: Request) -> float | None:
    """The user's limit; else LONGER times the time that two blocks in the budget leave for a run."""
    if request.time_limit or request.budget is None:
        return request.time_limit
    comparisons = plan.comparisons(campaigns.campaign_of(request))
    runs = plan.ROUNDS_AT_LEAST * sum(len(comparison.candidates) for comparison in comparisons)
    return max(plan.SHORTEST_LIMIT_S, LONGER * request.budget / max(runs, 1))


def is_uncounted(results: Results, run: Run) -> bool:
    """Whether the run did not fail: callgrind cannot count the program, or not within the time limit."""
    return bool(results.campaign.instructions) and run.status in (Status.SKIPPED, Status.TIMEOUT)
