"""`heaplab run --all-publications`: each experiment of the publications, a campaign in a folder of its own.

The same command goes on where it ended: what is complete is left alone. Each experiment has the arms that it
has by itself, so that ablations are measured with their variants, and strategies under the C library.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import click

from heaplab import claims
from heaplab.analysis import Analysis
from heaplab.campaign import begin_or_resume as campaigns, memory_needs, plan, store
from heaplab.campaign.begin_or_resume import OpenedCampaign, Request
from heaplab.campaign.pilot import in_words
from heaplab.campaign.trial import Forecast, forecast
from heaplab.catalog import contents as catalogs, locate, spec
from heaplab.catalog.contents import Catalog
from heaplab.cli.benchmarks import selection
from heaplab.cli.benchmarks.benchmark import Benchmark, request_of
from heaplab.cli.campaigns.measuring import named_by_all
from heaplab.cli.campaigns.run_campaign import bar_of, interrupted, run_campaign
from heaplab.cli.options.given_options import ComparisonOptions
from heaplab.cli.reading.results import REPORT_NAME
from heaplab.errors import HeaplabError, UsageError
from heaplab.records import Arm
from heaplab.report.page import html_file, report_page, reproduced, reproduction_page, reproduction_pictures
from heaplab.report.words import units

PATIENCE_S = 20.0  # for a run of the forecast
PAGE, PICTURES = "reproduction.md", "reproduction"
TO_GO_ON = "the same command goes on"
SPENT = "the budget is spent"


@dataclass(frozen=True)
class Planned:
    """One experiment to be measured."""

    request: Request
    folder: Path
    needed: dict[str, int]

    @property
    def name(self) -> str:
        return self.request.experiments[0].id

    @property
    def file(self) -> Path:
        return self.folder / store.FILE_NAME

    def earlier(self) -> store.Results | None:
        """What an earlier call measured of the same experiment with the same arms on this machine."""
        if not self.file.exists():
            return None
        found = store.load(self.file)
        same = found.campaign.id == campaigns.campaign_of(self.request).id
        return found if same and campaigns.same_machine(found.host) else None

    @property
    def is_complete(self) -> bool:
        found = self.earlier()
        return found is not None and found.end is not None and found.end.reason != "budget"


def run_all(extra: tuple[Path, ...], scale: spec.ScaleName, options: ComparisonOptions) -> int:
    """Measure, or go on; then write the page by figure. Return 1 if something was not measured."""
    refuse_what_one_campaign_takes(options)
    catalog = catalogs.load(extra)
    folder = options.output or Path("out") / "publications"
    names = [name for one in catalog.publications.values() for name in one.experiments]
    found = [planned_of(catalog, name, scale, folder, options) for name in dict.fromkeys(names)]
    planned = [one for one in found if one]
    ahead = [one for one in planned if not one.is_complete]
    selection.note(f"{len(planned) - len(ahead)} of {units.counted(len(names), 'experiment')} complete")
    ends = time.monotonic() + options.budget if options.budget else None
    if ahead:
        selection.note(in_a_line(forecast_of(ahead, options), len(ahead)))
    for one in ahead:
        if measured(one, ends, options) == interrupted(TO_GO_ON):
            break
    write_page(catalog, planned, folder)
    click.echo(folder / PAGE)
    return 0 if len(planned) == len(names) and all(one.is_complete for one in planned) else 1


def refuse_what_one_campaign_takes(options: ComparisonOptions) -> None:
    excluded = {
        "resume": (options.resume, TO_GO_ON),
        "factorial": (options.factorial, "each experiment has arms of its own"),
        "allocator": (options.own, "each experiment has arms of its own"),
        "show-command": (options.show_command, "run the experiment that you mean by its id"),
        "json": (options.as_json, "run the experiment that you mean by its id"),
    }
    for name, (given, instead) in excluded.items():
        if given:
            raise UsageError(f"--all-publications excludes --{name}: {instead}")


def planned_of(
    catalog: Catalog, name: str, scale: spec.ScaleName, folder: Path, options: ComparisonOptions
) -> Planned | None:
    """With a limit of memory where cells would not fit: they fail, and the others are measured.

    None, with a line, for an experiment with an allocator that is not on this machine.
    """
    chosen, workloads = selection.experiments(catalog, [name])
    try:
        arms = arms_of(catalog, chosen[0], options)
    except HeaplabError as error:
        selection.note(f"{name}: left out: {error}")
        return None
    benchmark = Benchmark(chosen, workloads, scale, folder, None)
    request = request_of(benchmark, arms, replace(options, budget=None))
    needed = memory_needs.estimates(plan.comparisons(campaigns.campaign_of(request)))
    largest, most = max(needed.values(), default=0), memory_needs.of_this_machine()
    if not request.memory_limit and largest > most:
        selection.note(
            f"{name}: a run may use {memory_needs.in_words(most)} on this machine; cells that need more, up "
            f"to {memory_needs.in_words(largest)}, will fail, and the others are measured"
        )
        request = replace(request, memory_limit=most)
    return Planned(request, folder / name, needed)


def arms_of(catalog: Catalog, experiment: spec.Experiment, options: ComparisonOptions) -> list[Arm]:
    """Those the experiment names, else those asked for, else all here and what its sentences speak of.

    Raises HeaplabError for one that was named and is not here.
    """
    named = named_by_all([experiment]) or options.allocators
    _, arms = selection.arms(catalog, named, [], None)
    known = {arm.allocator for arm in arms}
    for name in [] if named else claims.allocators_of(experiment):
        if name not in known:
            try:
                arms.append(selection.arm_of(catalog, name))
            except locate.NotHereError as error:
                selection.note(f"{experiment.id}: without {error}")
    return arms


def forecast_of(ahead: list[Planned], options: ComparisonOptions) -> Forecast:
    found = Forecast()
    with bar_of(options, None) as bar:
        for one in ahead:
            libraries = {arm.allocator: arm for arm in one.request.libraries}
            campaign = campaigns.campaign_of(one.request)
            found += forecast(campaign, libraries, dict(one.needed), PATIENCE_S, bar.tick)
    return found


def in_a_line(found: Forecast, experiments: int) -> str:
    said = (
        f"forecast for {units.counted(experiments, 'experiment')}: {found.runs:,} to {found.runs_most:,} "
        f"runs, {duration(found.seconds)} to {duration(found.seconds_most)}, by one run of the first and of "
        "the last cell of each under its baseline"
    )
    if found.longer:
        several = units.counted(found.longer, "experiment")
        said += f"; at least, for a run of {several} took longer than {in_words(PATIENCE_S)}"
    if found.unknown:
        said += f"; without {units.counted(found.unknown, 'experiment')} whose trial gave no time"
    return said


def duration(seconds: float) -> str:
    return in_words(seconds) if seconds < 7200 else f"{seconds / 3600:.3g} h"


def measured(one: Planned, ends: float | None, options: ComparisonOptions) -> str:
    """Measure what is missing of one experiment, and write its report. Return why it was stopped, or ""."""
    left = ends - time.monotonic() if ends else None
    if left is not None and left <= 0:
        return SPENT
    selection.note(one.name)
    opened = opened_of(one, left)
    why = run_campaign(opened, dict(one.needed), options, TO_GO_ON)
    results = store.load(one.file)
    if results.runs:
        report_page.write_html([Analysis(results)], one.folder / REPORT_NAME)
    return why


def opened_of(one: Planned, budget: float | None) -> OpenedCampaign:
    """The campaign begun, or gone on with. The budget is that of this call, whatever was measured before."""
    found = one.earlier()
    if found is None:
        return campaigns.begin(one.file, replace(one.request, budget=budget))
    campaign = found.campaign.model_copy(update={"budget": budget})
    libraries = {arm.allocator: arm for arm in one.request.libraries}
    return replace(campaigns.go_on(found, campaign, libraries), runs_of_earlier_budgets=len(found.runs))


def write_page(catalog: Catalog, planned: list[Planned], folder: Path) -> None:
    """What the results in the folder say, figure by figure."""
    found = [Analysis(store.load(one.file)) for one in planned if one.file.exists()]
    for one in found:
        reproduction_pictures.write(one, folder / PICTURES, catalog.published)
    page = reproduction_page.page(
        list(catalog.publications.values()),
        catalog.experiments,
        [each for one in found for each in reproduced.reproduced(one)],
        "`heaplab run --all-publications` wrote this page.",
        PICTURES,
    )
    html_file.write(folder / PAGE, page)
