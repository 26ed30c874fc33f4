"""What `heaplab compare` and `heaplab run` do: measure, then print and write the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from heaplab.campaign import begin_or_resume as campaigns
from heaplab.campaign.begin_or_resume import OpenedCampaign, Request
from heaplab.catalog import contents as catalogs
from heaplab.catalog.contents import Catalog
from heaplab.cli.benchmarks import command_arms, recorded_trace, selection
from heaplab.cli.benchmarks.benchmark import (
    Benchmark,
    benchmark_of,
    benchmark_of_commands,
    benchmark_of_trace,
    request_of,
)
from heaplab.cli.campaigns.run_campaign import needed_by, opened_for, run_campaign
from heaplab.cli.campaigns.shown_commands import shown_commands
from heaplab.cli.options import replay_options
from heaplab.cli.options.arm_options import GivenCommand
from heaplab.cli.options.given_options import ComparisonOptions
from heaplab.cli.options.measuring_options import refuse_program_beside_suite
from heaplab.cli.options.option_types import DEFAULT_PARENT
from heaplab.cli.reading.shown_results import tell
from heaplab.errors import UsageError
from heaplab.results import spec, store
from heaplab.results.records import Arm, Campaign, Parameter


def compare(
    extra: tuple[Path, ...],
    program: tuple[str, ...],
    suite: str | None,
    source: Path | None,
    commands: tuple[GivenCommand, ...],
    serving: Mapping[str, Any],
    replaying: Mapping[str, Parameter],
    options: ComparisonOptions,
) -> int:
    """Compare allocators or commands, or finish an earlier comparison."""
    refuse_program_beside_suite(program, suite)
    if source and serving:
        raise UsageError("--input: a server reads no standard input; --load drives it")
    if source and not (program or commands or options.resume):
        raise UsageError("--input goes with a program: heaplab compare --input FILE -- PROGRAM")
    hooks = options.prepare or options.cleanup
    if hooks and not (program or commands):
        raise UsageError(
            "--prepare and --cleanup go with a program: heaplab compare --prepare CMD -- PROGRAM"
        )
    if options.resume:
        refuse_more_work(program or commands or suite is not None or source or serving or replaying)
        return finish(extra, options.resume, options)
    if options.no_deep_binding and not (program or commands):
        raise UsageError(
            "--no-deep-binding goes with a program: heaplab compare --no-deep-binding -- PROGRAM"
        )
    catalog = catalogs.load(extra)
    if commands:
        replay_options.refuse_without_trace(replaying)
        named = bool(options.allocators or options.own or options.factorial)
        command_arms.refuse_others(commands, bool(program) or suite is not None or named)
        arms = [command_arms.arm_of_command(given) for given in commands]
        benchmark = benchmark_of_commands(arms, source, options.quiet, serving)
    else:
        catalog, arms = selection.arms(catalog, options.allocators, options.own, options.factorial)
        benchmark = benchmark_of(catalog, arms, program, suite, source, options.quiet, serving, replaying)
        refuse_one_alone(benchmark, arms)
    if options.no_deep_binding:
        arms = [selection.without_deep_binding(arm) for arm in arms]
    return measure(request_of(benchmark, arms, options), benchmark.folder, options)


def refuse_one_alone(benchmark: Benchmark, arms: Sequence[Arm]) -> None:
    """Raise UsageError for a single allocator, unless it is measured by a replay or compares a parameter."""
    alone = len(arms) == 1 and not any(work.replays for work in benchmark.workloads.values())
    if alone and not all(item.compare for item in benchmark.experiments):
        raise UsageError(
            f"{arms[0].allocator} alone: there is nothing to compare it with; name two, such as "
            f"--allocators {selection.BASELINE},jemalloc; `heaplab list allocators` names those that are here"
        )


def run(
    extra: tuple[Path, ...],
    experiments: tuple[str, ...],
    scale: Literal["quick", "full"],
    replaying: Mapping[str, Parameter],
    options: ComparisonOptions,
) -> int:
    """Run experiments or a trace, or finish what an earlier command began."""
    if options.resume:
        refuse_more_work(experiments or replaying)
        return finish(extra, options.resume, options)
    if not experiments:
        raise UsageError("run: name an experiment; `heaplab list experiments` names them all")
    catalog = catalogs.load(extra)
    if recorded_trace.is_trace(experiments):
        catalog, arms = selection.arms(catalog, options.allocators, options.own, options.factorial)
        benchmark = benchmark_of_trace(catalog, Path(experiments[0]), options.quiet, replaying)
        return measure(request_of(benchmark, arms, options), benchmark.folder, options)
    replay_options.refuse_without_trace(replaying)
    chosen, workloads = selection.experiments(catalog, experiments)
    named = options.allocators or (None if options.factorial else named_by_all(chosen))
    _, arms = selection.arms(catalog, named, options.own, options.factorial)
    benchmark = Benchmark(chosen, workloads, scale, DEFAULT_PARENT / "run", None)
    return measure(request_of(benchmark, arms, options), benchmark.folder, options)


def named_by_all(experiments: Sequence[spec.Experiment]) -> str | None:
    """The allocators of experiments that all name their own, as ablations do; else None.

    An experiment that compares the values of a parameter needs the baseline only.
    """
    named = [item.allocators or ([selection.BASELINE] if item.compare else []) for item in experiments]
    return ",".join(dict.fromkeys(name for names in named for name in names)) if all(named) else None


def measure(request: Request, folder: Path, options: ComparisonOptions) -> int:
    if options.show_command:
        click.echo("\n".join(shown_commands(request)))
        return 0
    return report_on(*opened_for(request, folder, options), options)


def finish(extra: tuple[Path, ...], place: Path, options: ComparisonOptions) -> int:
    """Resume a campaign that was interrupted or spent its budget; a complete campaign is only reported."""
    results = store.load(place)
    refuse_changes(results.campaign, options)
    if results.end and results.end.reason != "budget":
        selection.note(f"{results.path}: complete, nothing left to measure")
        return tell(results.path, quiet=options.quiet, as_json=options.as_json)
    again = arms_again(catalogs.load(extra), results, options)
    opened = campaigns.resume(results, again, options.budget)
    return report_on(opened, needed_by(results.campaign), options)


def refuse_more_work(given: object) -> None:
    if given:
        raise UsageError("--resume goes on with what it finds; give no program, input, suite or experiment")


def refuse_changes(campaign: Campaign, options: ComparisonOptions) -> None:
    """Raise UsageError for an option with another value than at the beginning of the campaign."""
    begun = {
        "allocators": ",".join(campaign.allocators),
        "output": None,
        "precision": campaign.precision,
        "seed": campaign.seed,
        "pin": campaign.pinned,
        "warm": campaign.warm,
        "memory_limit": campaign.memory_limit,
        "time_limit": campaign.time_limit,
    }
    given = click.get_current_context().get_parameter_source
    for name, value in begun.items():
        if given(name) is ParameterSource.COMMANDLINE and getattr(options, name) != value:
            raise UsageError(
                f"--resume goes on as it was begun; --{name.replace('_', '-')} cannot change that"
            )


def arms_again(catalog: Catalog, results: store.Results, options: ComparisonOptions) -> dict[str, Arm]:
    """The arms of a recorded campaign by name, as found on this machine now."""
    recorded = results.libraries
    if any(arm.command for arm in recorded.values()):
        found = [command_arms.again(arm) for arm in recorded.values()]
    elif options.factorial:
        _, found = selection.arms(catalog, None, options.own, options.factorial)
    else:
        catalog = selection.with_own(catalog, options.own)
        found = [selection.arm_of(catalog, name) for name in results.campaign.allocators]
    beside = {name for name, arm in recorded.items() if arm.beside}
    return {
        arm.allocator: selection.without_deep_binding(arm) if arm.allocator in beside else arm
        for arm in found
    }


def report_on(opened: OpenedCampaign, needed: dict[str, int], options: ComparisonOptions) -> int:
    """Measure the missing runs, then print the summary and write the report."""
    stopped = run_campaign(opened, needed, options)
    status = tell(opened.store.path, quiet=options.quiet, as_json=options.as_json)
    return 1 if stopped else status
