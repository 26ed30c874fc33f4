"""`heaplab compare` and `heaplab run`: measure, and tell what came out."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from heaplab import analysis, stats
from heaplab.campaign import begin_or_resume as campaigns, memory_needs, plan, store
from heaplab.campaign.begin_or_resume import OpenedCampaign, Request
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.pilot import PilotRunner
from heaplab.campaign.runner import Precise, Runner
from heaplab.catalog import contents as catalogs, locate, spec
from heaplab.cli import exit_status, program_experiment, resume_checks, selection
from heaplab.cli.option_types import DURATION, FOLDER, NAMED_LIBRARY, PLACE, SEED, SHARE, SIZE
from heaplab.cli.progress_bar import ProgressBar
from heaplab.cli.results import tell
from heaplab.errors import HeaplabError, UsageError
from heaplab.records import Campaign, Run

Command = TypeVar("Command", bound=Callable[..., Any])

MEASURING_OPTIONS = [
    click.option(
        "--allocators",
        metavar="A,B,...",
        help="Names, or 'all' found here. The first is the baseline.",
    ),
    click.option(
        "--allocator", "own", multiple=True, type=NAMED_LIBRARY, help="A library of your own: NAME=LIBRARY."
    ),
    click.option("-o", "--output", type=FOLDER, help="Folder for results and report."),
    click.option("--resume", type=PLACE, metavar="DIR", help="Go on with what lies in DIR."),
    click.option(
        "--budget",
        type=DURATION,
        help="Stop measuring after this time, at the earliest after two blocks: 90s, 5m; "
        "with --resume after so much more.",
    ),
    click.option(
        "--precision",
        type=SHARE,
        default="2%",
        help="Repeat until ratios are this precise.",
        show_default=True,
    ),
    click.option(
        "--seed",
        type=SEED,
        default=1,
        help="Of order, environment and workloads.",
        show_default=True,
    ),
    click.option("--pin", is_flag=True, help="Run on one CPU of each core only."),
    click.option(
        "--warm", type=SIZE, help="Memory to touch before each run.  [default: twice the peak seen]"
    ),
    click.option("--memory-limit", type=SIZE, help="Kill a run that uses more: 2GiB."),
    click.option(
        "--time-limit",
        type=DURATION,
        help="Kill a run that takes longer: 90s.  [default: the workload's; of PROGRAM by the budget]",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print results only, no progress."),
    click.option("--json", "as_json", is_flag=True, help="Print results as JSON."),
]


def measuring(command: Command) -> Command:
    for option in reversed(MEASURING_OPTIONS):
        command = option(command)
    return command


@click.command(cls=selection.ProgramCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM [ARGS]...]")
@click.option("--suite", help="Experiments to compare with.  [default: quick]")
@click.option(
    "--input",
    "source",
    type=PLACE,
    metavar="FILE",
    help="What each run of PROGRAM reads as its standard input.  [default: < FILE, else nothing]",
)
@measuring
@click.pass_obj
def compare(
    extra: tuple[Path, ...],
    /,
    program: tuple[str, ...],
    suite: str | None,
    source: Path | None,
    **options: Any,
) -> int:
    """Compare allocators on a suite of experiments, or on PROGRAM.

    The allocators are the ready-made ones found here, compared with the C library's.

    \b
    Examples:
      heaplab compare
      heaplab compare --allocators glibc,jemalloc -- python3 -c 'print(1)'
      heaplab compare --input words.txt -- sort --numeric-sort
      heaplab compare --allocator mine=./libmine.so --budget 2m
    """
    if program and suite is not None:
        raise UsageError("--suite and a program exclude each other")
    if source and not (program or options["resume"]):
        raise UsageError("--input goes with a program: heaplab compare --input FILE -- PROGRAM")
    if options["resume"]:
        resume_checks.refuse_more_work(program or suite is not None or source)
        return finish(extra, options)
    catalog = selection.with_own(catalogs.load(extra), options["own"])
    libraries = selection.libraries(catalog, options["allocators"], options["own"])
    given = None
    if program:
        experiments, workloads = program_experiment.experiment_of(program)
        program_experiment.check(program[0], libraries)
        given = program_experiment.input_of(source, options["quiet"])
        scale: Literal["quick", "full"] = "quick"
        folder = Path("out") / Path(program[0]).name
        budget: float | None = program_experiment.BUDGET_S
    else:
        chosen = catalog.suite("quick" if suite is None else suite)
        experiments, workloads = selection.experiments(catalog, chosen.experiments)
        scale, folder, budget = chosen.scale, Path("out") / "compare", chosen.budget_s
    request = Request(experiments, workloads, libraries, scale, input=given, **how(options, budget))
    return measure(request, folder, options)


@click.command()
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...")
@click.option(
    "--scale",
    type=click.Choice(["quick", "full"]),
    default="quick",
    help="Minutes on two cores, or as published.",
    show_default=True,
)
@measuring
@click.pass_obj
def run(
    extra: tuple[Path, ...], /, experiments: tuple[str, ...], scale: Literal["quick", "full"], **options: Any
) -> int:
    """Run experiments by id, group or glob of ids; `heaplab list experiments` names them.

    \b
    Examples:
      heaplab run acdc-ismm13/fig10
      heaplab run acdc-ismm13 --scale full --allocators glibc,jemalloc,tcmalloc -o out/acdc
    """
    if options["resume"]:
        resume_checks.refuse_more_work(experiments)
        return finish(extra, options)
    if not experiments:
        raise UsageError("run: name an experiment; `heaplab list experiments` names them all")
    catalog = selection.with_own(catalogs.load(extra), options["own"])
    chosen, workloads = selection.experiments(catalog, experiments)
    libraries = selection.libraries(catalog, options["allocators"] or named_by_all(chosen), options["own"])
    request = Request(chosen, workloads, libraries, scale, **how(options, None))
    return measure(request, Path("out") / "run", options)


def named_by_all(experiments: Sequence[spec.Experiment]) -> str | None:
    """The allocators of experiments that each name their own, as ablations do; else None.

    An experiment that compares something else needs the baseline only.
    """
    named = [item.allocators or ([selection.BASELINE] if item.compare else []) for item in experiments]
    return ",".join(dict.fromkeys(name for names in named for name in names)) if all(named) else None


def how(options: dict[str, Any], budget: float | None) -> dict[str, Any]:
    """The part of a request that the common options decide."""
    sizes = {name: int(options[name]) if options[name] else None for name in ("warm", "memory_limit")}
    return {
        "seed": options["seed"],
        "command": ["heaplab", *sys.argv[1:]],
        "budget": options["budget"] or budget,
        "precision": options["precision"],
        "pinned": options["pin"],
        "time_limit": options["time_limit"],
    } | sizes


def finish(extra: tuple[Path, ...], options: dict[str, Any]) -> int:
    """Go on with a campaign that was interrupted or spent its budget; a complete one is only reported."""
    results = store.load(options["resume"])
    resume_checks.refuse_changes(results.campaign, options)
    if results.end and results.end.reason != "budget":
        selection.note(f"{results.path}: complete, nothing left to measure")
        return tell(results.path, quiet=options["quiet"], as_json=options["as_json"])
    catalog = selection.with_own(catalogs.load(extra), options["own"])
    libraries = {name: locate.locate(catalog, name) for name in results.campaign.allocators}
    opened = campaigns.resume(results, libraries, options["budget"])
    return carry_out(opened, needed_by(results.campaign), options)


def measure(request: Request, folder: Path, options: dict[str, Any]) -> int:
    needed = needed_by(campaigns.campaign_of(request))
    found: list[str] = []
    with bar_of(options, request.budget) as bar:
        libraries = {library.allocator: library for library in request.libraries}
        pilot = PilotRunner(libraries, found.append, bar.listen, bar.tick)
        opened = campaigns.begin(options["output"] or folder, request, pilot)
    for line in [] if options["quiet"] else found:
        selection.note(line)
    if opened.moved:
        selection.note(f"earlier results are kept as {opened.moved}")
    return carry_out(opened, needed, options)


def bar_of(options: dict[str, Any], budget: float | None) -> ProgressBar:
    return ProgressBar(options["quiet"] or options["as_json"], budget)


def needed_by(campaign: Campaign) -> dict[str, int]:
    """Estimates of memory by cell. Raises UsageError if one is too large and no limit was asked for."""
    exit_status.refuse_small_address_space()
    comparisons = plan.comparisons(campaign)
    needed = memory_needs.estimates(comparisons)
    if not campaign.memory_limit:
        memory_needs.refuse_too_large(comparisons, needed)
    return needed


def carry_out(opened: OpenedCampaign, needed: dict[str, int], options: dict[str, Any]) -> int:
    """Measure what is missing, then tell. An interruption or a full disk keeps what was measured."""
    if opened.dropped:
        selection.note(f"{opened.store.path}: {opened.dropped} unreadable line(s) left out")
    if opened.runs:
        selection.note(f"{opened.store.path}: going on after {len(opened.runs)} runs")
    campaign, stopped = opened.campaign, ""
    bar = bar_of(options, campaign.budget)
    with opened.store, RunMeasurer(campaign, opened.libraries, needed, tick=bar.tick) as measurer:
        runner = Runner(
            campaign,
            measurer,
            opened.store,
            runs=opened.runs,
            settled=opened.settled,
            spent=opened.spent,
            precise=precise_enough(campaign),
            listen=bar.listen,
        )
        try:
            with bar:
                runner.run()
        except KeyboardInterrupt:
            stopped = f"interrupted; resume with: heaplab compare --resume {opened.store.path.parent}"
        except HeaplabError as error:
            stopped = str(error)
    if stopped:
        selection.note(stopped)
    status = tell(opened.store.path, quiet=options["quiet"], as_json=options["as_json"])
    return 1 if stopped else status


def precise_enough(campaign: Campaign) -> Precise:
    """The stop rule: every ratio of the main metric to the reference is known well enough."""

    def rule(comparison: plan.Comparison, runs: Sequence[Run]) -> bool:
        studies = analysis.studies_of(comparison.experiment, campaign, list(runs))
        pairs = [
            study.pair(cell, study.baseline, name, study.main_metric)
            for study in studies
            for cell in study.cells_run
            for name in study.candidates
            if name != study.baseline
        ]
        return all(stats.precise_enough(base, [other], campaign.precision) for base, other in pairs)

    return rule
