"""What `heaplab compare` does: it measures, then prints and writes the report."""

from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from heaplab.campaign import begin_or_resume as campaigns
from heaplab.campaign.begin_or_resume import OpenedCampaign, Request
from heaplab.catalog import contents as catalogs
from heaplab.catalog.contents import Catalog
from heaplab.comparison import run_fit
from heaplab.comparison.benchmark import (
    Benchmark,
    benchmark_of,
    benchmark_of_commands,
    benchmark_of_experiments,
    request_of,
)
from heaplab.comparison.outlook import BudgetOutlook, told_at
from heaplab.comparison.run_campaign import needed_by, opened_for, run_campaign
from heaplab.comparison.shown_commands import shown_commands
from heaplab.comparison.shown_results import tell
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import UsageError
from heaplab.options import chosen_arms, command_arms, replay_options
from heaplab.options.given_options import ComparisonOptions, Subject
from heaplab.options.measuring_options import refuse_program_beside_suite
from heaplab.results import spec, store
from heaplab.results.manner import Manner, those_of
from heaplab.results.records import Arm, Campaign
from heaplab.screen.notes import note


def compare(extra: tuple[Path, ...], subject: Subject, options: ComparisonOptions) -> int:
    """Compare allocators or commands, or finish an earlier comparison."""
    if options.resume:
        if subject.is_given:
            raise UsageError(
                "--resume goes on with what it finds; give no program, input, suite or experiment"
            )
        return finish(extra, options.resume, options)
    refuse_contradictions(subject, options)
    catalog = catalogs.load(extra)
    if options.fits:
        return run_fit.fit(catalog, subject, options)
    if subject.commands:
        arms = [command_arms.arm_of_command(given) for given in subject.commands]
        benchmark = benchmark_of_commands(arms, subject, options.quiet)
    elif subject.experiments:
        benchmark = benchmark_of_experiments(catalog, subject)
        named = options.allocators or (None if options.factorial else named_by_all(benchmark.experiments))
        _, arms = chosen_arms.arms(catalog, named, options.own, options.factorial)
    else:
        catalog, arms = chosen_arms.arms(catalog, options.allocators, options.own, options.factorial)
        benchmark = benchmark_of(catalog, arms, subject, options.quiet)
        refuse_one_alone(benchmark, arms)
    if options.no_deep_binding:
        arms = [chosen_arms.without_deep_binding(arm) for arm in arms]
    if options.budget is not None:
        benchmark = benchmark.with_most_blocks()
    return measure(request_of(benchmark, arms, options), benchmark.folder, options)


def refuse_contradictions(subject: Subject, options: ComparisonOptions) -> None:
    """Raise UsageError for options that exclude each other, or go with what is not given."""
    program = subject.program or subject.commands
    refuse_program_beside_suite(subject.program, subject.suite)
    if subject.experiments and (program or subject.suite is not None or subject.serving):
        raise UsageError("--experiment excludes --suite, a program, and the options of servers")
    if subject.scale and not subject.experiments:
        raise UsageError("--scale goes with --experiment; a suite has a scale of its own")
    if subject.source and subject.serving:
        raise UsageError("--input: a server reads no standard input; --load drives it")
    if subject.source and not program:
        raise UsageError("--input goes with a program: heaplab compare --input FILE -- PROGRAM")
    if (options.prepare or options.cleanup) and not program:
        raise UsageError(
            "--prepare and --cleanup go with a program: heaplab compare --prepare CMD -- PROGRAM"
        )
    if options.no_deep_binding and not program:
        raise UsageError(
            "--no-deep-binding goes with a program: heaplab compare --no-deep-binding -- PROGRAM"
        )
    if subject.experiments or subject.commands:
        replay_options.refuse_without_trace(subject.replaying)
    if subject.commands:
        named = bool(options.allocators or options.own or options.factorial)
        command_arms.refuse_others(
            subject.commands, bool(subject.program) or subject.suite is not None or named
        )


def refuse_one_alone(benchmark: Benchmark, arms: Sequence[Arm]) -> None:
    """Raise UsageError for a single allocator, unless it is measured by a replay or compares a parameter."""
    alone = len(arms) == 1 and not any(work.replays for work in benchmark.workloads.values())
    if alone and not all(item.compare for item in benchmark.experiments):
        raise UsageError(
            f"{arms[0].allocator} alone: there is nothing to compare it with; name two, such as "
            f"--allocators {chosen_arms.BASELINE},jemalloc; `heaplab show allocators` names those here"
        )


def named_by_all(experiments: Sequence[spec.Experiment]) -> str | None:
    """The allocators of experiments that all name their own, as ablations do; else None.

    An experiment that compares the values of a parameter needs the baseline only.
    """
    named = [item.allocators or ([chosen_arms.BASELINE] if item.compare else []) for item in experiments]
    return ",".join(dict.fromkeys(name for names in named for name in names)) if all(named) else None


def measure(request: Request, folder: Path, options: ComparisonOptions) -> int:
    if options.show_command:
        click.echo("\n".join(shown_commands(request)))
        return 0
    asked, share = WholeBudget.with_report(request.budget, options.began).rest(request)
    return report_on(*opened_for(asked, folder, options, share, leaves_out=True), options, request.budget)


def finish(extra: tuple[Path, ...], place: Path, options: ComparisonOptions) -> int:
    """Resume a campaign that was interrupted or spent its budget; a complete campaign is only reported."""
    results = store.load(place)
    refuse_changes(results.campaign, options)
    if results.end and results.end.reason != "budget":
        note(f"{results.path}: complete, nothing left to measure")
        return tell(results.path, quiet=options.quiet, as_json=options.as_json)
    again = arms_again(catalogs.load(extra), results, options)
    budget = options.budget
    if budget is not None:
        budget = WholeBudget.with_report(budget, options.began).within(budget)
    opened = campaigns.resume(results, again, budget)
    return report_on(opened, needed_by(results.campaign), options, options.budget or opened.campaign.budget)


def refuse_changes(campaign: Campaign, options: ComparisonOptions) -> None:
    """Raise UsageError for an option with another value than at the beginning of the campaign."""
    begun = those_of(Manner, campaign) | {"allocators": ",".join(campaign.allocators), "output": None}
    del begun["budget"]
    context = click.get_current_context()
    for option in context.command.params:
        typed = option.name and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        if typed and option.name in begun and getattr(options, option.name) != begun[option.name]:
            raise UsageError(f"--resume goes on as it was begun; {option.opts[-1]} cannot change that")


def arms_again(catalog: Catalog, results: store.Results, options: ComparisonOptions) -> dict[str, Arm]:
    """The arms of a recorded campaign by name, as found on this machine now."""
    recorded = results.libraries
    if any(arm.command for arm in recorded.values()):
        arms = [command_arms.again(arm) for arm in recorded.values()]
    elif options.factorial:
        _, arms = chosen_arms.arms(catalog, None, options.own, options.factorial)
    else:
        catalog = chosen_arms.with_own(catalog, options.own)
        arms = [chosen_arms.arm_of(catalog, name) for name in results.campaign.allocators]
    shallow = {
        name
        for name, arm in recorded.items()
        if any(chosen_arms.NO_DEEP_BINDING in Path(path).name for path in arm.beside)
    }
    return {
        arm.allocator: chosen_arms.without_deep_binding(arm) if arm.allocator in shallow else arm
        for arm in arms
    }


def report_on(
    opened: OpenedCampaign, needed: dict[str, int], options: ComparisonOptions, budget: float | None
) -> int:
    """Measure the missing runs, then print the summary and write the report. `budget` is the user's."""
    outlook = BudgetOutlook(told_at(opened.campaign.precision), budget, leaves_out=True)
    stopped = run_campaign(opened, needed, options, outlook=outlook)
    return tell(opened.store.path, quiet=options.quiet, as_json=options.as_json, stopped=bool(stopped))
