"""The benchmark of a comparison: experiments of the catalog, a program, or the commands of the arms."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heaplab.campaign.begin_or_resume import Request
from heaplab.catalog.contents import Catalog
from heaplab.comparison import chosen_experiments, given_server, program_experiment, recorded_trace
from heaplab.options.given_options import HowOptions, Subject
from heaplab.options.option_types import DEFAULT_PARENT
from heaplab.options.replay_options import refuse_without_trace
from heaplab.results import spec
from heaplab.results.records import Arm, Input
from heaplab.results.server_spec import Server

SUITES = DEFAULT_PARENT / "compare"  # the folder of experiments of the catalog


@dataclass(frozen=True)
class Benchmark:
    experiments: Sequence[spec.Experiment]
    workloads: dict[str, spec.Workload]
    scale: spec.ScaleName
    folder: Path  # for results, unless the user names another
    budget: float | None  # s, unless the user gives another
    input: Input | None = None
    fit_blocks: int | None = None  # number of blocks that cells are shortened for; None: lengths stay


def benchmark_of(catalog: Catalog, arms: Sequence[Arm], subject: Subject, quiet: bool) -> Benchmark:
    """The benchmark of the user's program or trace; without either, that of a suite.

    Raises HeaplabError if no arm can serve the program.
    """
    program = subject.program
    if recorded_trace.is_trace(program):
        return benchmark_of_trace(catalog, Path(program[0]), subject, quiet)
    refuse_without_trace(subject.replaying)
    if program:
        server = given_server.server_of(subject.serving)
        program_experiment.check(program[0], arms)
        measured = program_experiment.experiment_of(program, server)
        return benchmark_with(measured, Path(program[0]).name, server, subject, quiet)
    chosen = catalog.suite("quick" if subject.suite is None else subject.suite)
    experiments, workloads = chosen_experiments.experiments(catalog, chosen.experiments)
    experiments, workloads = given_server.changed(experiments, workloads, subject.serving)
    return Benchmark(
        experiments, workloads, chosen.scale, SUITES, chosen.budget_s, fit_blocks=chosen.fit_blocks
    )


def benchmark_of_experiments(catalog: Catalog, subject: Subject) -> Benchmark:
    experiments, workloads = chosen_experiments.experiments(catalog, subject.experiments)
    return Benchmark(experiments, workloads, subject.scale or "quick", SUITES, None)


def benchmark_of_trace(catalog: Catalog, trace: Path, subject: Subject, quiet: bool) -> Benchmark:
    return Benchmark(
        *recorded_trace.experiments_of(catalog, trace, quiet, subject.replaying),
        "quick",
        DEFAULT_PARENT / trace.name,
        program_experiment.BUDGET_S,
    )


def benchmark_of_commands(arms: Sequence[Arm], subject: Subject, quiet: bool) -> Benchmark:
    server = given_server.server_of(subject.serving)
    measured = program_experiment.experiment_of_commands(arms, server)
    return benchmark_with(measured, "commands", server, subject, quiet)


def benchmark_with(
    measured: given_server.Measured, name: str, server: Server | None, subject: Subject, quiet: bool
) -> Benchmark:
    """The benchmark of the user's programs: they end by themselves and may read a file, or are servers."""
    folder = DEFAULT_PARENT / name
    if server:
        return Benchmark(*measured, "quick", folder, program_experiment.SERVER_BUDGET_S)
    given = program_experiment.input_of(subject.source, quiet)
    return Benchmark(*measured, "quick", folder, program_experiment.BUDGET_S, given)


def request_of(benchmark: Benchmark, arms: Sequence[Arm], options: HowOptions) -> Request:
    """The request of a campaign: its benchmark, its arms, and the values of the common options."""
    return Request(
        benchmark.experiments,
        benchmark.workloads,
        arms,
        benchmark.scale,
        seed=options.seed,
        command=["heaplab", *sys.argv[1:]],
        budget=options.budget or benchmark.budget,
        precision=options.precision,
        pinned=options.pin,
        warm=size_of(options.warm),
        memory_limit=size_of(options.memory_limit),
        time_limit=options.time_limit,
        input=benchmark.input,
        prepare=options.prepare or "",
        cleanup=options.cleanup or "",
        fit_blocks=benchmark.fit_blocks,
        slices=options.slices,
    )


def size_of(given: float | None) -> int | None:
    return int(given) if given else None


def with_note(request: Request, text: str) -> Request:
    """The request with a note that the report shows beside every answer about its workloads."""
    works = {}
    for name, work in request.workloads.items():
        note = " ".join(filter(None, (work.card.note, text)))
        works[name] = work.model_copy(update={"card": work.card.model_copy(update={"note": note})})
    return replace(request, workloads=works)
