"""The benchmark of a comparison: experiments of the catalog, a program, or the commands of the arms."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from heaplab.campaign.begin_or_resume import Measurement, Request
from heaplab.catalog.contents import Catalog
from heaplab.comparison import chosen_experiments, given_server, program_experiment, recorded_trace
from heaplab.options.given_options import HowOptions, Subject
from heaplab.options.option_types import DEFAULT_PARENT
from heaplab.options.replay_options import refuse_without_trace
from heaplab.results.manner import Manner, those_of
from heaplab.results.records import Arm
from heaplab.results.server_spec import Server
from heaplab.traces import foreign

MOST_BLOCKS = 200  # where the budget decides
SUITES = DEFAULT_PARENT / "compare"  # the folder of experiments of the catalog


@dataclass(frozen=True, kw_only=True)
class Benchmark(Measurement):
    """What is measured where the user names no folder and no budget."""

    folder: Path
    budget: float | None = None  # s

    def with_most_blocks(self) -> Self:
        """The budget decides how many blocks there are, and not the experiments."""
        experiments = [item.with_most_blocks(MOST_BLOCKS) for item in self.experiments]
        return replace(self, experiments=experiments)


def benchmark_of(catalog: Catalog, arms: Sequence[Arm], subject: Subject, quiet: bool) -> Benchmark:
    """The benchmark of the user's program or trace; without either, that of a suite.

    Raises HeaplabError if no arm can serve the program.
    """
    program = subject.program
    if foreign.names_a_trace(program):
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
        experiments=experiments,
        workloads=workloads,
        scale=chosen.scale,
        fit_blocks=chosen.fit_blocks,
        folder=SUITES,
        budget=chosen.budget_s,
    )


def benchmark_of_experiments(catalog: Catalog, subject: Subject) -> Benchmark:
    experiments, workloads = chosen_experiments.experiments(catalog, subject.experiments)
    return Benchmark(
        experiments=experiments, workloads=workloads, scale=subject.scale or "quick", folder=SUITES
    )


def benchmark_of_trace(catalog: Catalog, trace: Path, subject: Subject, quiet: bool) -> Benchmark:
    experiments, workloads = recorded_trace.experiments_of(catalog, trace, quiet, subject.replaying)
    return Benchmark(
        experiments=experiments,
        workloads=workloads,
        scale="quick",
        folder=DEFAULT_PARENT / trace.name,
        budget=program_experiment.BUDGET_S,
    )


def benchmark_of_commands(arms: Sequence[Arm], subject: Subject, quiet: bool) -> Benchmark:
    server = given_server.server_of(subject.serving)
    measured = program_experiment.experiment_of_commands(arms, server)
    return benchmark_with(measured, "commands", server, subject, quiet)


def benchmark_with(
    measured: given_server.Measured, name: str, server: Server | None, subject: Subject, quiet: bool
) -> Benchmark:
    """The benchmark of the user's programs: they end by themselves and may read a file, or are servers."""
    experiments, workloads = measured
    return Benchmark(
        experiments=experiments,
        workloads=workloads,
        scale="quick",
        input=None if server else program_experiment.input_of(subject.source, quiet),
        folder=DEFAULT_PARENT / name,
        budget=program_experiment.SERVER_BUDGET_S if server else program_experiment.BUDGET_S,
    )


def request_of(benchmark: Benchmark, arms: Sequence[Arm], options: HowOptions) -> Request:
    """The request of a campaign: its benchmark, its arms, and the values of the common options."""
    manner = those_of(Manner, options) | {"budget": options.budget or benchmark.budget}
    command = ["heaplab", *sys.argv[1:]]
    return Request(**those_of(Measurement, benchmark), **manner, libraries=arms, command=command)


def with_note(request: Request, text: str) -> Request:
    """The request with a note that the report shows beside every answer about its workloads."""
    works = {}
    for name, work in request.workloads.items():
        note = " ".join(filter(None, (work.card.note, text)))
        works[name] = work.model_copy(update={"card": work.card.model_copy(update={"note": note})})
    return replace(request, workloads=works)
