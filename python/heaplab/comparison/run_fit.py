"""What `heaplab compare --fit` does: the least memory limit that a program needs under each allocator."""

import json
import time
from dataclasses import asdict
from math import inf

import click
from rich.markup import escape

from heaplab.campaign import plan
from heaplab.campaign.begin_or_resume import campaign_of
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Candidate
from heaplab.catalog.contents import Catalog
from heaplab.comparison.benchmark import benchmark_of, request_of
from heaplab.comparison.least_limit import (
    FINE,
    MOST_TIME,
    BudgetSpentError,
    Fit,
    LimitOutcome,
    LimitSearch,
    LimitTrial,
)
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine.memory_group import MemoryGroupParent
from heaplab.options import chosen_arms
from heaplab.options.given_options import ComparisonOptions, Subject
from heaplab.results.records import Run, Status
from heaplab.screen.console import Column, console, put, put_table
from heaplab.screen.notes import note
from heaplab.text import units

TIMES, MORE_S = 20, 10.0  # a run may take so many times as long as without a limit, and this much more


def fit(catalog: Catalog, subject: Subject, options: ComparisonOptions) -> int:
    """Search and print; return 1 if an arm does not complete even without a limit."""
    if not subject.program or subject.serving or subject.replaying:
        raise UsageError("--fit goes with a program that ends by itself: heaplab compare --fit -- PROGRAM")
    groups = MemoryGroupParent()
    catalog, arms = chosen_arms.arms(catalog, options.allocators, options.own, options.factorial)
    benchmark = benchmark_of(catalog, arms, subject, options.quiet)
    campaign = campaign_of(request_of(benchmark, arms, options))
    campaign = campaign.model_copy(update={"warm": 0, "budget": None})
    until = options.began + options.budget if options.budget and not options.automatic else inf
    results: dict[str, Fit | LimitTrial] = {}
    with RunMeasurer(campaign, {arm.allocator: arm for arm in arms}) as measure:
        for ahead, arm in zip(range(len(arms), 0, -1), arms, strict=True):
            now = time.monotonic()
            limited = Limited(groups, measure, arm.allocator, now + (until - now) / ahead)
            result = LimitSearch(limited).fit()
            results[arm.allocator] = result
            if not options.quiet:
                note(f"{arm.allocator}: {in_words(result)}")
    if options.as_json:
        click.echo(json.dumps({name: asdict(result) for name, result in results.items()}))
    else:
        print_fits(results)
    return 0 if all(isinstance(result, Fit) for result in results.values()) else 1


class Limited:
    """Runs of the program under one allocator until a time, each in a control group of its own."""

    def __init__(self, groups: MemoryGroupParent, measure: RunMeasurer, allocator: str, until: float) -> None:
        (comparison,) = plan.comparisons(measure.campaign)
        (cell,) = comparison.cells
        self._groups, self._measure, self._until = groups, measure, until
        self._block = plan.block(measure.campaign, comparison, 1)  # the first would be watched
        self._candidate = Candidate(cell, allocator)
        self._longest = plan.time_limit(measure.campaign, cell)

    def __call__(self, limit: int | None) -> LimitTrial:
        if time.monotonic() >= self._until:
            raise BudgetSpentError
        with self._groups.new(limit) as group:
            self._measure.members = group.members
            self._measure.until = min(self._until, time.monotonic() + self._longest)
            run = self._measure(self._block, self._candidate, 0, attempt=1)
            trial = trial_of(run, group.kills, group.peak)
        if trial.outcome is LimitOutcome.TOO_LONG and time.monotonic() >= self._until:
            raise BudgetSpentError
        if limit is None:
            self._longest = min(self._longest, TIMES * trial.wall_time + MORE_S)
        return trial


def trial_of(run: Run, kills: int, peak: int | None) -> LimitTrial:
    """Raises HeaplabError for a run that says nothing about the limit."""
    if kills:
        return LimitTrial(LimitOutcome.KILLED, reason=run.reason)
    if run.status is Status.TIMEOUT:
        return LimitTrial(LimitOutcome.TOO_LONG, reason=run.reason)
    if run.status is Status.FAILED:
        return LimitTrial(LimitOutcome.FAILED, reason=run.reason)
    if run.status is not Status.OK or not run.process:
        raise HeaplabError(f"{run.allocator}: {run.reason}")
    process = run.process
    return LimitTrial(
        LimitOutcome.DONE,
        process.wall_time,
        process.user_time + process.system_time,
        process.major_faults,
        peak or process.peak_memory or 0,
    )


def in_words(result: Fit | LimitTrial) -> str:
    if isinstance(result, LimitTrial):
        return f"{result.outcome} without a limit: {result.reason}"
    return f"completes in {completes(result)}, {units.counted(result.runs, 'run')}"


def print_fits(results: dict[str, Fit | LimitTrial]) -> None:
    fits = {name: result for name, result in results.items() if isinstance(result, Fit)}
    order = sorted(fits, key=lambda name: fits[name].completes or 0)
    columns = [
        Column("allocator", [escape(name) for name in order]),
        Column("completes in", [completes(fits[name]) for name in order], right=True),
        Column(f"in {MOST_TIME} of its time", [keeps_time(fits[name]) for name in order], right=True),
        Column("used without", [size(fits[name].free.peak) for name in order], right=True),
        Column("with less", [fits[name].below or units.NOTHING for name in order]),
    ]
    if order:
        put_table(console(), columns)
    for name, result in results.items():
        if isinstance(result, LimitTrial):
            put(console(), f"{escape(name)}: {escape(in_words(result))}")
    if any(fits[name].keeps_time_above is not None for name in order):
        put(console(), "The budget was spent: a limit lies in the range that is told.")
    put(console(), f"Limits are at most a {FINE}th of what is used without one too large, or 64 KiB.")


def completes(fit: Fit) -> str:
    return limit_in_words(fit.completes, fit.completes_above)


def keeps_time(fit: Fit) -> str:
    return limit_in_words(fit.keeps_time, fit.keeps_time_above)


def limit_in_words(limit: int | None, above: int | None) -> str:
    """A limit, or the range that it lies in: above a limit that is known to be too small."""
    if above is None:
        return size(limit)
    return f"more than {size(above)}" if limit is None else f"{size(above)} to {size(limit)}"


def size(value: int | None) -> str:
    return units.NOTHING if value is None else units.show(value, "B")
