"""The part of a gate that counts instructions under callgrind, in a campaign of its own."""

from dataclasses import dataclass, replace
from pathlib import Path

import click

from heaplab import analysis
from heaplab.analysis.power import block_seconds
from heaplab.campaign import begin_or_resume as campaigns, plan, store
from heaplab.campaign.begin_or_resume import Request
from heaplab.campaign.store import Results
from heaplab.catalog.spec import Experiment
from heaplab.cli.benchmarks.benchmark import with_note
from heaplab.cli.benchmarks.selection import note
from heaplab.cli.campaigns.run_campaign import opened_for, run_campaign
from heaplab.cli.options.given_options import GateOptions
from heaplab.errors import HeaplabError
from heaplab.machine import callgrind
from heaplab.machine.purge_timers import without_timers
from heaplab.records import Run, Status

FOLDER = "callgrind"  # within that of the gate
TO_GO_ON = "the same command goes on"
BLOCKS = 3  # counts vary little: fewer than a time needs, enough to see whether they do
SLOWER = 50  # times: what callgrind makes of a run
LONGER = 1.5  # as other programs hold up one run of several
NOTE = "Runs were carried out under callgrind: only their instructions mean something."


def counted(request: Request, folder: Path, options: GateOptions, share: float) -> list[Path]:
    """The results of the counting; none if nothing can be counted. Raises HeaplabError without valgrind.

    `share` is the part of the user's budget that the request has.
    """
    if absent := callgrind.why_absent():
        raise HeaplabError(f"gate: {absent}")
    request = counting(request)
    if not plan.comparisons(campaigns.campaign_of(request)):
        note("nothing is counted under callgrind: no cell has one thread and a fixed amount of work")
        return []
    opened, needed = opened_for(request, folder / FOLDER, replace(options, output=None), share)
    if run_campaign(opened, needed, options, TO_GO_ON):
        raise click.exceptions.Exit(1)
    for reason in uncounted(store.load(opened.store.path)):
        note(f"not counted under callgrind: {reason}")
    return [opened.store.path]


@dataclass(frozen=True)
class Offer:
    """What counting would tell."""

    names: list[str]  # of experiments
    seconds: float


def offer_of(request: Request, measured: analysis.Analysis) -> Offer | None:
    """The countable experiments of a request, and how long counting them takes; None without any."""
    cells = [cell for one in plan.comparisons(campaigns.campaign_of(counting(request))) for cell in one.cells]
    names = list(dict.fromkeys(cell.experiment.id for cell in cells))
    walls = {
        study.experiment.id: sum(block_seconds(study, cell) for cell in study.cells_run)
        for study in measured.between_allocators
    }
    seconds = SLOWER * BLOCKS * sum(walls.get(name, 0.0) for name in names)
    return Offer(names, seconds) if names else None


def counting(request: Request) -> Request:
    changed = replace(
        request,
        experiments=[with_blocks(item) for item in request.experiments],
        libraries=[without_timers(arm) for arm in request.libraries],
        warm=0,
        instructions="callgrind",
    )
    return with_note(replace(changed, time_limit=time_limit_of(changed)), NOTE)


def time_limit_of(request: Request) -> float | None:
    """What a run may take: LONGER times its share of the budget if two blocks of all cells fit."""
    if request.time_limit or request.budget is None:
        return request.time_limit
    comparisons = plan.comparisons(campaigns.campaign_of(request))
    runs = plan.ROUNDS_AT_LEAST * sum(len(one.candidates) for one in comparisons)
    return max(plan.SHORTEST_LIMIT_S, LONGER * request.budget / max(runs, 1))


def with_blocks(experiment: Experiment) -> Experiment:
    fixed = {"blocks": BLOCKS, "blocks_most": BLOCKS}
    scales = {name: getattr(experiment, name).model_copy(update=fixed) for name in ("quick", "full")}
    return experiment.model_copy(update=scales)


def uncounted(results: Results) -> list[str]:
    """What was not counted and why, once each."""
    runs = [run for run in results.runs if is_uncounted(results, run)]
    return list(dict.fromkeys(f"{run.experiment}: {run.reason}" for run in runs))


def is_uncounted(results: Results, run: Run) -> bool:
    """Whether the run is no failure, but of a program that callgrind cannot count, or not in time."""
    return bool(results.campaign.instructions) and run.status in (Status.SKIPPED, Status.TIMEOUT)
