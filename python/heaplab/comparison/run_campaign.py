"""Carries out a campaign for a command: opens it, measures with a progress bar, keeps finished runs."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heaplab import analysis, stats
from heaplab.campaign import begin_or_resume as campaigns, memory_needs, plan
from heaplab.campaign.begin_or_resume import OpenedCampaign, Request
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.pilot import PilotRunner
from heaplab.campaign.runner import Precise, Runner, begin_of_budget, end_of_budget
from heaplab.comparison.outlook import BudgetOutlook
from heaplab.comparison.progress_bar import ProgressBar
from heaplab.errors import HeaplabError
from heaplab.options.given_options import HowOptions
from heaplab.report.words import beyond_malloc
from heaplab.results import store
from heaplab.results.records import Campaign, Run, Timing
from heaplab.screen import exit_status
from heaplab.screen.notes import note

Pointless = Callable[[analysis.Analysis], bool]
TO_GO_ON = "the same command goes on"  # what a user may do after an interruption


def opened_for(
    request: Request, folder: Path, options: HowOptions, share: float = 1.0, leaves_out: bool = False
) -> tuple[OpenedCampaign, dict[str, int]]:
    """The campaign of a request in the folder of the options, or else in `folder`; see `opened_at`."""
    path = (options.output or folder) / store.FILE_NAME
    return opened_at(path, request, options, share, leaves_out=leaves_out)


def opened_at(
    path: Path,
    request: Request,
    options: HowOptions,
    share: float = 1.0,
    facts: Mapping[str, Any] = MappingProxyType({}),
    leaves_out: bool = False,
) -> tuple[OpenedCampaign, dict[str, int]]:
    """Begin or continue the campaign of a request; return it with the memory needs of its cells, by key.

    A need is the workload's estimate, or the peak of the pilot runs if that is larger. `share` is this
    campaign's part of the user's budget; `facts` are recorded beside the facts of the machine; `leaves_out`:
    see PilotRunner.
    """
    began = time.monotonic()
    needed = needed_by(campaigns.campaign_of(request))
    sentences: list[str] = []
    with bar_of(options, request.budget) as bar:
        libraries = {library.allocator: library for library in request.libraries}
        pilot = PilotRunner(libraries, sentences.append, bar.listen, bar.tick, share, leaves_out, needed)
        opened = campaigns.begin(path, request, pilot, facts)
    if opened.campaign.pilot:
        sentences += beyond_malloc.sentences(opened.campaign.pilot.coverage)
    for line in [] if options.quiet else sentences:
        note(line)
    if opened.moved:
        note(f"earlier results are kept as {opened.moved}")
    return replace(opened, spent=time.monotonic() - began), needed


def is_measured(folder: Path, request: Request) -> bool:
    """Whether the folder holds the complete campaign of this request."""
    earlier = campaigns.earlier(folder / store.FILE_NAME, request)
    return earlier is not None and earlier.end is not None


def bar_of(options: HowOptions, budget: float | None) -> ProgressBar:
    return ProgressBar(options.quiet or options.as_json, budget)


def needed_by(campaign: Campaign) -> dict[str, int]:
    """Estimated memory of each cell, by key. Raises UsageError if one is too large and no limit is set."""
    exit_status.refuse_small_address_space()
    exit_status.refuse_missing_temporary_folder()
    comparisons = plan.comparisons(campaign)
    needed = memory_needs.estimates(comparisons)
    if not campaign.memory_limit:
        memory_needs.refuse_too_large(comparisons, needed)
    return needed


def interrupted(how: str) -> str:
    """Why run_campaign stopped, if the user interrupted it."""
    return f"interrupted; {how}"


def run_campaign(
    opened: OpenedCampaign,
    needed: dict[str, int],
    options: HowOptions,
    to_go_on: str = "",
    pointless: Pointless | None = None,
    outlook: BudgetOutlook | None = None,
    limits: analysis.GateLimits | None = None,
) -> str:
    """Measure the missing runs; return why measuring was stopped, "" if it was not.

    Finished runs survive an interruption and a full disk; `to_go_on` says how the user can continue. Before
    each round, `pointless` tells from what was measured so far whether more of it decides nothing, and
    `outlook`, once, what the budget can decide. With `limits`, all that a gate judges has to be precise.
    """
    if opened.unreadable:
        note(store.left_out(opened.store.path, opened.unreadable))
    if opened.runs:
        note(f"{opened.store.path}: going on after {len(opened.runs)} runs")
    campaign, stopped = opened.campaign, ""
    bar = bar_of(options, campaign.budget)
    paid = opened.runs[opened.runs_of_earlier_budgets :]
    until = end_of_budget(campaign.budget, begin_of_budget(time.monotonic(), opened.spent, paid))
    measuring = RunMeasurer(campaign, opened.libraries, needed, tick=bar.tick, until=until)
    left_out = outlook.left_out if outlook else ()

    def before_round(left: float) -> bool:
        if not (bar.is_shown or pointless or (outlook and not outlook.is_told)):
            return False
        measured = so_far(opened)
        bar.stand(measured)
        if outlook and (line := outlook.look(measured, left)) and not options.quiet:
            bar.note(line)
        return bool(pointless and pointless(measured))

    with opened.store, measuring as measurer:
        runner = Runner(
            campaign,
            measurer,
            opened.store,
            together=measurer.together,
            timings=opened.timings,
            runs=opened.runs,
            runs_of_earlier_budgets=opened.runs_of_earlier_budgets,
            spent=opened.spent,
            precise=precise_enough(campaign, opened.timings, left_out, limits),
            pointless=before_round,
            left_out=left_out,
            listen=bar.listen,
        )
        try:
            with bar:
                runner.run()
        except KeyboardInterrupt:
            how = to_go_on or f"resume with: heaplab compare --resume {opened.store.path.parent}"
            stopped = interrupted(how)
        except HeaplabError as error:
            stopped = str(error)
    if stopped:
        note(stopped)
    return stopped


def so_far(opened: OpenedCampaign) -> analysis.Analysis:
    """What a campaign that is going on has measured."""
    return analysis.Analysis(
        store.Results(
            path=opened.store.path,
            campaign=opened.campaign,
            host=None,
            libraries=opened.libraries,
            runs=opened.runs,
            end=None,
            runs_of_earlier_budgets=opened.runs_of_earlier_budgets,
            unreadable=[],
            timings=opened.timings,
        )
    )


def precise_enough(
    campaign: Campaign,
    timings: Mapping[str, Timing],
    left_out: Collection[str] = (),
    limits: analysis.GateLimits | None = None,
) -> Precise:
    """The stopping rule: every ratio of the main metric to the reference is precise enough.

    With `limits`, so is every other that a gate judges: to half of its limit.

    `timings` and `left_out` are filled while the campaign runs.
    """

    def rule(comparison: plan.Comparison, runs: Sequence[Run]) -> bool:
        timing = timings.get(comparison.experiment.id)
        studies = analysis.studies_of(comparison.experiment, campaign, list(runs), timing)
        pairs = [
            (study.pair(cell, study.baseline, name, metric), precision)
            for study in studies
            for cell in study.cells_run
            for metric, precision in precisions_of(study, cell, campaign.precision, limits).items()
            for name in (*study.candidates, study.control)
            if name != study.baseline and name not in left_out
        ]
        return all(stats.precise_enough(base, [other], precision) for (base, other), precision in pairs)

    return rule


def precisions_of(
    study: analysis.Study, cell: analysis.MeasuredCell, precision: float, limits: analysis.GateLimits | None
) -> dict[str, float]:
    """The metrics of a cell that are to be precise, and to what share."""
    judged = analysis.judged_of(study, limits, counts=False).values() if limits else ()
    halves = {name: limit / 2 for name, limit in judged if isfinite(limit) and study.shows(cell, name)}
    return halves | {study.main_metric: precision}
