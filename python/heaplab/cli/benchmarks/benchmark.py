"""The benchmark of a comparison: experiments of the catalog, a program, or the commands of the arms."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heaplab.campaign.begin_or_resume import Request
from heaplab.catalog.contents import Catalog
from heaplab.cli.benchmarks import given_server, program_experiment, recorded_trace, selection
from heaplab.cli.options.given_options import HowOptions
from heaplab.cli.options.option_types import DEFAULT_PARENT
from heaplab.cli.options.replay_options import refuse_without_trace
from heaplab.results import spec
from heaplab.results.records import Arm, Input, Parameter
from heaplab.results.server_spec import Server

NONE_GIVEN: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Benchmark:
    experiments: Sequence[spec.Experiment]
    workloads: dict[str, spec.Workload]
    scale: spec.ScaleName
    folder: Path  # for results, unless the user names another
    budget: float | None  # s, unless the user gives another
    input: Input | None = None
    fit_blocks: int | None = None  # number of blocks that cells are shortened for; None: lengths stay


def benchmark_of(
    catalog: Catalog,
    arms: Sequence[Arm],
    program: tuple[str, ...],
    suite: str | None,
    source: Path | None,
    quiet: bool,
    serving: Mapping[str, Any] = NONE_GIVEN,
    replaying: Mapping[str, Parameter] = NONE_GIVEN,
) -> Benchmark:
    """The benchmark of the user's program or trace; without either, that of a suite.

    Raises HeaplabError if no arm can serve the program.
    """
    if recorded_trace.is_trace(program):
        return benchmark_of_trace(catalog, Path(program[0]), quiet, replaying)
    refuse_without_trace(replaying)
    if program:
        server = given_server.server_of(serving)
        program_experiment.check(program[0], arms)
        measured = program_experiment.experiment_of(program, server)
        return benchmark_with(measured, Path(program[0]).name, server, source, quiet)
    chosen = catalog.suite("quick" if suite is None else suite)
    experiments, workloads = selection.experiments(catalog, chosen.experiments)
    experiments, workloads = given_server.changed(experiments, workloads, serving)
    folder = DEFAULT_PARENT / "compare"
    return Benchmark(
        experiments, workloads, chosen.scale, folder, chosen.budget_s, fit_blocks=chosen.fit_blocks
    )


def benchmark_of_trace(
    catalog: Catalog, trace: Path, quiet: bool, replaying: Mapping[str, Parameter]
) -> Benchmark:
    return Benchmark(
        *recorded_trace.experiments_of(catalog, trace, quiet, replaying),
        "quick",
        DEFAULT_PARENT / trace.name,
        program_experiment.BUDGET_S,
    )


def benchmark_of_commands(
    arms: Sequence[Arm], source: Path | None, quiet: bool, serving: Mapping[str, Any] = NONE_GIVEN
) -> Benchmark:
    server = given_server.server_of(serving)
    measured = program_experiment.experiment_of_commands(arms, server)
    return benchmark_with(measured, "commands", server, source, quiet)


def benchmark_with(
    measured: given_server.Measured, name: str, server: Server | None, source: Path | None, quiet: bool
) -> Benchmark:
    """The benchmark of the user's programs: they end by themselves and may read a file, or are servers."""
    folder = DEFAULT_PARENT / name
    if server:
        return Benchmark(*measured, "quick", folder, program_experiment.SERVER_BUDGET_S)
    given = program_experiment.input_of(source, quiet)
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
