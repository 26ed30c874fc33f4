"""`heaplab compare --all-publications`: each experiment of the publications is a campaign in its own folder.

The same command continues where it ended, and leaves complete campaigns alone. Each experiment has its own
arms: ablations are measured with their variants, and strategies under the C library. A budget is divided
among the experiments by divided_budget.py.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from heaplab.analysis import Analysis
from heaplab.campaign import memory_needs, scale_steps
from heaplab.campaign.trial import PATIENCE_S, Forecast
from heaplab.catalog import contents as catalogs
from heaplab.catalog.contents import Catalog
from heaplab.comparison import chosen_experiments
from heaplab.comparison.divided_budget import (
    BudgetTurn,
    ScaledExperiment,
    how_long,
    queue,
    room_in_words,
    turn_of,
)
from heaplab.comparison.outlook import BudgetOutlook, told_at
from heaplab.comparison.planned_experiment import arms_of, planned_of
from heaplab.comparison.run_campaign import TO_GO_ON, interrupted, run_campaign
from heaplab.comparison.shown_results import REPORT_NAME
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError, UsageError
from heaplab.files.output import write_text
from heaplab.options.given_options import ComparisonOptions, Subject
from heaplab.options.option_types import DEFAULT_PARENT
from heaplab.report.page import report_page, reproduced, reproduction_page, reproduction_pictures
from heaplab.results import spec, store
from heaplab.screen.notes import note
from heaplab.text import units
from heaplab.text.units import duration

PAGE, PICTURES = "reproduction.md", "reproduction"


def run_all(extra: tuple[Path, ...], subject: Subject, options: ComparisonOptions) -> int:
    """Begin or continue measuring, then write the page by figure. Return 1 if something was not measured.

    The subject names experiments of the publications; none: all. With a budget and without a scale, each
    experiment is measured at the largest scale that fits.
    """
    refuse_what_one_campaign_takes(subject, options)
    catalog = catalogs.load(extra)
    folder = options.output or DEFAULT_PARENT / "publications"
    names = experiments_of(catalog, subject.experiments)
    experiments = [scaled(catalog, name, subject.scale, folder, options) for name in names]
    known = [experiment for experiment in experiments if experiment]
    complete = sum(entry.complete for entry in known)
    note(f"{complete} of {units.counted(len(names), 'experiment')} complete")
    ahead = [entry for entry in known if entry.begun != 0 or not entry.complete]
    if options.budget:
        measure_within(ahead, WholeBudget.with_report(options.budget, options.began), options)
    else:
        measure_each(ahead, options)
    write_page(catalog, [entry.steps[0].file for entry in known], folder)
    click.echo(folder / PAGE)
    now = [ScaledExperiment.found(entry.steps) for entry in known]
    return 0 if len(now) == len(names) and all(experiment.complete for experiment in now) else 1


def refuse_what_one_campaign_takes(subject: Subject, options: ComparisonOptions) -> None:
    others = subject.program or subject.commands or subject.source or subject.serving
    if others or subject.suite is not None or subject.replaying:
        raise UsageError("--all-publications takes no program, trace, suite, input or server")
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


def experiments_of(catalog: Catalog, asked: Sequence[str]) -> list[str]:
    """The ids of the experiments of the publications, limited to those that `asked` matches."""
    names = list(
        dict.fromkeys(
            name for publication in catalog.publications.values() for name in publication.experiments
        )
    )
    chosen = (
        {experiment.id for experiment in catalog.experiments_matching(list(asked))} if asked else set(names)
    )
    if others := sorted(chosen - set(names)):
        raise UsageError(f"--all-publications: {others[0]} is of no publication")
    return [name for name in names if name in chosen]


def scaled(
    catalog: Catalog, name: str, scale: spec.ScaleName | None, folder: Path, options: ComparisonOptions
) -> ScaledExperiment | None:
    """The experiment with its steps; None, with a note, if one of its allocators is not on this machine."""
    (experiment, *_), workloads = chosen_experiments.experiments(catalog, [name])
    try:
        arms = arms_of(catalog, experiment, options)
    except HeaplabError as error:
        note(f"{name}: left out: {error}")
        return None
    steps = scale_steps.steps_of(experiment)
    if scale or not options.budget:
        steps = [scale_steps.step_of(experiment, scale or "quick")]
    planned = [planned_of(catalog, workloads, arms, step, folder, options) for step in steps]
    return ScaledExperiment.found(planned)


def measure_each(ahead: Sequence[ScaledExperiment], options: ComparisonOptions) -> None:
    whole = sum((experiment.steps[0].forecast() for experiment in ahead), Forecast())
    if ahead:
        note(in_a_line(whole, len(ahead)))
    for each in ahead:
        measured(BudgetTurn(each.steps[0], None), options)


def in_a_line(forecast: Forecast, experiments: int) -> str:
    said = (
        f"forecast for {units.counted(experiments, 'experiment')}: {forecast.runs:,} to "
        f"{forecast.runs_most:,} runs, {duration(forecast.seconds)} to {duration(forecast.seconds_most)}, by "
        "one run of the first and of the last cell of each under its baseline"
    )
    if forecast.longer:
        several = units.counted(forecast.longer, "experiment")
        said += f"; at least, for a run of {several} took longer than {duration(PATIENCE_S)}"
    if forecast.unknown:
        said += f"; without {units.counted(forecast.unknown, 'experiment')} whose trial gave no time"
    return said


def measure_within(ahead: Sequence[ScaledExperiment], whole: WholeBudget, options: ComparisonOptions) -> None:
    """Measure as many experiments as the budget has room for, each at the largest scale that fits."""
    waiting = queue(ahead, whole.left)
    if line := room_in_words([each.least for each in waiting if each.least], whole.left):
        note(line)
    while waiting and (left := whole.left) > 0:
        experiment, *waiting = waiting
        turn = turn_of(experiment, left / (1 + len(waiting)), left)
        if turn:
            measured(turn, options)
        if turn is None and experiment.least:
            others = units.counted(1 + len(waiting), "experiment")
            note(
                f"{experiment.name}: waits for another call: {experiment.steps[-1].step} would take "
                f"{how_long(experiment.least)}, and {duration(left)} are left for {others}"
            )
    if waiting:
        note(f"the budget is spent; {units.counted(len(waiting), 'experiment')} had no turn")


def measured(turn: BudgetTurn, options: ComparisonOptions) -> None:
    """Measure the missing runs of one experiment, and write its report. Raises Exit if interrupted."""
    planned, needed = turn.planned, turn.planned.needed()
    note(f"{planned.name}: {planned.step}{turn.why and f': {turn.why}'}")
    most = planned.request.memory_limit or 0
    if (largest := max(needed.values(), default=0)) > most:
        note(
            f"{planned.name}: a run may use {memory_needs.in_words(most)} on this machine; cells that need "
            f"more, up to {memory_needs.in_words(largest)}, will fail, and the others are measured"
        )
    outlook = BudgetOutlook(told_at(options.precision), turn.seconds)
    opened = planned.opened(turn.seconds, turn.why)
    stopped = run_campaign(opened, needed, options, TO_GO_ON, outlook=outlook)
    results = store.load(planned.file)
    if stopped == interrupted(TO_GO_ON):
        raise click.exceptions.Exit(1)
    if results.runs:
        report_page.write_html([Analysis(results)], planned.folder / REPORT_NAME)


def write_page(catalog: Catalog, files: Sequence[Path], folder: Path) -> None:
    """Write the page by figure from the results in the folder; interrupted campaigns are left out."""
    results = [store.load(file) for file in files if file.exists()]
    analyses = [Analysis(result) for result in results if result.end]
    for item in analyses:
        reproduction_pictures.write(item, folder / PICTURES, catalog.published)
    page = reproduction_page.page(
        list(catalog.publications.values()),
        catalog.experiments,
        [each for experiment in analyses for each in reproduced.reproduced(experiment)],
        "`heaplab compare --all-publications` wrote this page.",
        PICTURES,
    )
    write_text(folder / PAGE, page)
