#!/usr/bin/env python3
"""Measure what recording costs programs of the catalog, and what the replayer itself costs.

A round runs every program alone, recorded, and recorded with stacks, in shuffled order, under glibc; a ratio
is that of times of the same round. The time is the program's: making the trace comes after, and is not part
of it. Then the replay of the last recording runs with calls of malloc and without, in the same number of
rounds. With --sample, a round runs every program alone, and sampled at each of the distances; nothing is
recorded or replayed then. All runs pass the checks of heaplab's
runner; a run that fails them ends the measurement.

Example, some 20 seconds:
    research/recording_cost.py --programs jq,git-log --rounds 2
    research/recording_cost.py --programs jq,git-log --rounds 2 --sample 512,3072
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from catalog_programs import PROGRAMS, SEED, add_programs, experiment_of, recorded, with_blocks, workload_of
from command_line import add_page, parser_of, put
from heaplab import stats
from heaplab.analysis.metrics import PROCESS_METRICS, value_of
from heaplab.campaign import begin_or_resume as campaigns, plan
from heaplab.campaign.begin_or_resume import Request
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.catalog import contents
from heaplab.catalog.contents import Catalog
from heaplab.comparison import recorded_trace
from heaplab.errors import HeaplabError
from heaplab.machine import host, interposition
from heaplab.options import chosen_arms
from heaplab.results import spec
from heaplab.results.records import Arm, Run, Status
from heaplab.text import markdown, units
from heaplab.traces import recording, tool
from heaplab.traces.sampling import SamplingPlan
from page_parts import machine, ratio_text

FOLDER = Path("out")  # for recordings: on the disk, where /tmp may be memory
LOOP = "malloc_test"  # does nothing but malloc and free
ALONE, RECORDED, STACKS = "alone", "recorded", "stacks"
DRIVER, CALLS = REPLAYS = ("driver-alone", "calls")


@dataclass
class Costs:
    name: str
    is_whole: bool  # the times are those of all events, not of one operation
    seconds: dict[str, list[float]] = field(default_factory=dict)  # by way
    events: int = 0
    event_bytes: dict[str, float] = field(default_factory=dict)
    call_seconds: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in REPLAYS})

    def recording_row(self) -> list[str]:
        alone, recorded, stacks = (self.seconds[way] for way in (ALONE, RECORDED, STACKS))
        once = float(np.median(alone))
        cells = [self.name, f"{once:.3g} s", f"{self.events:,}"]
        for way, taken in ((RECORDED, recorded), (STACKS, stacks)):
            ratio = stats.compare(alone, taken)
            event = once * (ratio.estimate - 1) / self.events * 1e9 if self.is_whole else None
            cells += [ratio_text(ratio, 2), f"{event:.0f}" if event else "", f"{self.event_bytes[way]:.1f}"]
        return cells

    def replay_row(self) -> list[str]:
        return [self.name, *(nanoseconds(self.call_seconds[way]) for way in REPLAYS)]


def nanoseconds(seconds: Sequence[float]) -> str:
    low, middle, high = (1e9 * value for value in np.percentile(seconds, [0, 50, 100]))
    return f"{middle:.1f} ({low:.1f} to {high:.1f})"


class Runs:
    """Runs of one experiment, each under one of several arms."""

    def __init__(self, experiment: spec.Experiment, workload: spec.Workload, arms: dict[str, Arm]) -> None:
        first = next(iter(arms.values()))
        self._campaign = campaigns.campaign_of(
            Request(
                experiments=[experiment],
                workloads={workload.id: workload},
                libraries=[first],
                scale="quick",
                seed=SEED,
                command=sys.argv,
            )
        )
        [self._comparison] = plan.comparisons(self._campaign)
        self._metric = experiment.main_metric or workload.main_metric
        self._workload = workload
        self._measurer = RunMeasurer(self._campaign, arms)

    @contextmanager
    def open(self) -> Iterator["Runs"]:
        with self._measurer:
            yield self

    def run(self, way: str, number: int) -> Run:
        """A run that passed its checks. Raises HeaplabError if it did not."""
        block = plan.block(self._campaign, self._comparison, number)
        candidate = plan.Candidate(self._comparison.cells[0], way)
        run = self._measurer(block, candidate, order=0, attempt=1)
        if run.status is not Status.OK:
            raise HeaplabError(f"{self._workload.id}, {way}: {run.reason}")
        return run

    def time(self, way: str, number: int) -> float:
        """The main metric of a run, less being better. Raises HeaplabError if the run gives none."""
        value = value_of(self.run(way, number), self._metric, self._workload.metrics)
        if not value:
            raise HeaplabError(f"{self._workload.id}, {way}: no time")
        known = self._workload.metrics.get(self._metric)
        return 1 / value if known and known.better == "higher" else value


Around = Callable[[str], AbstractContextManager[Arm]]


def shuffled(ways: Sequence[str], seed: Any) -> list[str]:
    return random.Random(f"{SEED}/{seed}").sample(ways, len(ways))


def measure(catalog: Catalog, costs: Costs, rounds: int, arms: dict[str, Arm], around: Around) -> None:
    chosen = experiment_of(catalog, costs.name)
    with Runs(with_blocks(chosen, costs.name, rounds), workload_of(catalog, chosen), arms).open() as runs:
        runs.time(ALONE, 0)  # the first run finds its files cold
        for number in range(rounds):
            for way in shuffled(list(arms), f"{costs.name}/{number}"):
                with around(way):
                    costs.seconds.setdefault(way, []).append(runs.time(way, number))


def record(catalog: Catalog, costs: Costs, glibc: Arm, folder: Path, rounds: int) -> Path:
    """Measure the three ways; returns the last trace without stacks."""
    wanted = {
        way: recording.Wanted(folder / f"{costs.name}.{way}.trace", glibc, stacks=way == STACKS)
        for way in (RECORDED, STACKS)
    }
    arms = {ALONE: glibc, **{way: recording.arm_of(library) for way, library in wanted.items()}}

    def around(way: str) -> AbstractContextManager[Arm]:
        return nullcontext(glibc) if way == ALONE else recorded(wanted[way])

    measure(catalog, costs, rounds, arms, around)
    for way, program in wanted.items():
        summary = tool.summary(program.trace)
        costs.events = sum(process["events"] for process in summary["processes"])
        costs.event_bytes[way] = summary["bytes"] / max(1, costs.events)
    return wanted[RECORDED].trace


def sampled(
    catalog: Catalog, name: str, glibc: Arm, rounds: int, distances: Sequence[int]
) -> list[list[str]]:
    """The rows of a program: for each metric, every distance against the program alone."""
    chosen = experiment_of(catalog, name)
    workload = workload_of(catalog, chosen)
    metrics = [main_metric_of(catalog, name), *(["throughput"] if workload.server else []), "peak_memory"]
    with folder_for_recordings() as folder:
        wanted = {
            units.show(mean, "B"): recording.Wanted(
                folder / f"{mean}.sample", glibc, sampled=SamplingPlan(mean)
            )
            for mean in distances
        }
        arms = {ALONE: glibc, **{way: recording.arm_of(plan) for way, plan in wanted.items()}}
        by_metric: dict[str, dict[str, list[float]]] = {
            metric: {way: [] for way in arms} for metric in metrics
        }
        with Runs(with_blocks(chosen, name, rounds), workload, arms).open() as runs:
            runs.time(ALONE, 0)
            for number in range(rounds):
                for way in shuffled(list(arms), f"{name}/{number}"):
                    with nullcontext() if way == ALONE else discarded(wanted[way]):
                        run = runs.run(way, number)
                    for metric in metrics:
                        by_metric[metric][way].append(value_of(run, metric, workload.metrics) or nan)
    known = PROCESS_METRICS | workload.metrics
    units_of = {metric: known[metric].unit for metric in metrics}
    return [
        [name, metric, units.show(float(np.median(values[ALONE])), units_of[metric])]
        + [ratio_text(stats.compare(values[ALONE], values[way])) for way in wanted]
        for metric, values in by_metric.items()
    ]


@contextmanager
def discarded(wanted: recording.Wanted) -> Iterator[None]:
    """Processes are recorded, and no trace is made."""
    recording.make_folder(wanted.raw)
    try:
        with recording.control_of(wanted):
            yield
    finally:
        recording.remove(wanted.raw)


def replay(catalog: Catalog, costs: Costs, glibc: Arm, trace: Path, rounds: int) -> None:
    passes, workloads = recorded_trace.experiments_of(catalog, trace, quiet=True)
    plain = passes[0].model_copy(update={"main_metric": "call_time"})
    alone = plain.model_copy(update={"parameters": plain.parameters | {"driver-alone": True}})
    [workload] = workloads.values()
    for way, experiment in ((DRIVER, alone), (CALLS, plain)):
        with Runs(experiment, workload, {way: glibc}).open() as runs:
            costs.call_seconds[way] += [runs.time(way, number) for number in range(rounds)]


def main_metric_of(catalog: Catalog, name: str) -> str:
    experiment = experiment_of(catalog, name)
    return experiment.main_metric or catalog.workloads[experiment.workload].main_metric


@contextmanager
def folder_for_recordings() -> Iterator[Path]:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="heaplab-", dir=FOLDER) as folder:
        yield Path(folder)


def measured(catalog: Catalog, name: str, glibc: Arm, rounds: int) -> Costs:
    costs = Costs(name, is_whole=main_metric_of(catalog, name) == "wall_time")
    with folder_for_recordings() as folder:
        trace = record(catalog, costs, glibc, folder, rounds)
        replay(catalog, costs, glibc, trace, rounds)
    return costs


INTRODUCTION = """# What recording costs

`research/recording_cost.py` writes this page; its `--help` says how it measures. The aim on real programs is
a ratio below 1.3 without stacks and below 2 with stacks. The last program, {loop}, does nothing but malloc
and free and pays far more: the records are then most of its work.
"""
RECORDING = """
## Programs

Times against the program alone, with 95 % intervals from pairs of the same round; the time that this is for
an event, where the times are of the whole program; and the bytes that an event takes in the trace. An event
takes about as long in every program, so that the ratio grows with the calls in a second of the program's
time: a program that allocates ten million times a second takes twice the time. While a recording runs, a
call takes 32 bytes of disk. A stack takes 32 bytes for each three addresses, once.
"""
REPLAYER = """
## The replayer

The time of one call in the replay of that recording, in nanoseconds: median, and least to most, of the
driver alone, which calls no malloc, and with the calls under glibc. The aim for the driver is 3 ns. With
several threads the time is that of the whole replay over the calls of all threads.
"""
WAY_HEAD = ["ns an event", "B an event"]
RECORDING_HEAD = ["program", "alone", "events", "recorded", *WAY_HEAD, "with stacks", *WAY_HEAD]
REPLAYER_HEAD = ["program", "driver", "with calls"]


def page(costs: Sequence[Costs], rounds: int) -> str:
    """The whole page, in Markdown."""
    return "".join(
        [
            INTRODUCTION.format(loop=LOOP),
            f"\nMeasured on {date.today():%-d %B %Y} in {rounds} rounds by `research/{command()}`\n",
            RECORDING + "\n" + markdown.table(RECORDING_HEAD, [cost.recording_row() for cost in costs]),
            REPLAYER + "\n" + markdown.table(REPLAYER_HEAD, [cost.replay_row() for cost in costs]),
            machine(host.facts()),
        ]
    )


def command() -> str:
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])


def sample_rows(catalog: Catalog, asked: argparse.Namespace, glibc: Arm) -> str:
    """The table of sampling, in Markdown."""
    distances = [int(kib) << 10 for kib in asked.sample.split(",")]
    rows = [row for name in asked.programs for row in sampled(catalog, name, glibc, asked.rounds, distances)]
    head = ["program", "figure", "alone", *(units.show(mean, "B") for mean in distances)]
    return markdown.table(head, rows) + machine(host.facts())


def run(asked: argparse.Namespace) -> None:
    catalog, [glibc] = chosen_arms.arms(contents.load(()), "glibc", (), None)
    glibc = interposition.preloaded(glibc)  # also below the recorder
    if asked.sample:
        put(sample_rows(catalog, asked, glibc), asked.page)
    else:
        put(
            page([measured(catalog, name, glibc, asked.rounds) for name in asked.programs], asked.rounds),
            asked.page,
        )


def main(words: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    add_programs(parser, f"{PROGRAMS},{LOOP}")
    parser.add_argument("--rounds", type=int, default=10, help="from 6 on there are 95 %% intervals")
    parser.add_argument("--sample", metavar="KIB,...", help="mean distances of samples, in KiB")
    add_page(parser)
    asked = parser.parse_args(words)
    if not 1 <= asked.rounds <= 1000:
        parser.error("--rounds: takes 1 to 1000")
    try:
        run(asked)
    except HeaplabError as error:
        parser.exit(2, f"recording_cost: {error}\n")


if __name__ == "__main__":
    main()
