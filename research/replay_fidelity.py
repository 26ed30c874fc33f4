#!/usr/bin/env python3
"""Measure how faithful replays are: programs of the catalog against the replays of their recordings.

Each program is recorded once under glibc. Then rounds run every program and every replay under all
allocators, interleaved and in shuffled order. The page compares, under glibc, memory and page faults; and
between allocators the ratios to glibc of the replay with those of the program.

Recordings and results lie in FOLDER: the same command goes on where it was interrupted, and only writes the
page again where everything is measured.

Example, some two minutes:
    research/replay_fidelity.py --programs jq,git-log --allocators glibc,jemalloc,mimalloc --blocks 2
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import fidelity_page
from catalog_programs import SEED, add_programs, experiment_of, recorded, with_blocks, workload_of
from command_line import add_page, parser_of, put
from fidelity_figures import Program
from heaplab.analysis import Analysis
from heaplab.campaign import begin_or_resume as campaigns, plan
from heaplab.campaign.begin_or_resume import Request
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Candidate
from heaplab.catalog import contents
from heaplab.catalog.contents import Catalog
from heaplab.comparison import recorded_trace
from heaplab.comparison.run_campaign import opened_for, run_campaign
from heaplab.errors import HeaplabError, UsageError
from heaplab.options import chosen_arms
from heaplab.results import spec, store
from heaplab.results.records import Arm, Status
from heaplab.traces import recording

ALLOCATORS = "glibc,scalloc,llheap,jemalloc,mimalloc,tcmalloc"
OPTIONS = {"quiet": False, "as_json": False, "output": None}


def record(experiment: spec.Experiment, workload: spec.Workload, glibc: Arm, trace: Path) -> None:
    """Make the trace of one run, with the program's input as heaplab's runner prepares it."""
    campaign = campaigns.campaign_of(
        Request(
            experiments=[experiment],
            workloads={workload.id: workload},
            libraries=[glibc],
            scale="quick",
            seed=SEED,
            command=sys.argv,
        )
    )
    [comparison] = plan.comparisons(campaign)
    block, candidate = plan.block(campaign, comparison, 0), Candidate(comparison.cells[0], glibc.allocator)
    with (
        recorded(recording.Wanted(trace, glibc)) as recorder,
        RunMeasurer(campaign, {glibc.allocator: recorder}) as measurer,
    ):
        run = measurer(block, candidate, order=0, attempt=1)
        if run.status is not Status.OK:
            raise HeaplabError(f"{workload.id}: not recorded: {run.reason}")


def experiments_about(
    catalog: Catalog, name: str, glibc: Arm, folder: Path, blocks: int
) -> tuple[list[spec.Experiment], dict[str, spec.Workload]]:
    """The program itself, and two passes over its recording: time, and memory at the marks."""
    experiment = experiment_of(catalog, name)
    original, workload = with_blocks(experiment, f"{name}/original", blocks), workload_of(catalog, experiment)
    trace = folder / f"{name}.trace"
    if not trace.exists():
        record(original, workload, glibc, trace)
    passes, replay = recorded_trace.experiments_of(catalog, trace, quiet=True)
    by_name = {each.id.rpartition("/")[2]: each for each in passes}
    return [
        original,
        with_blocks(by_name["time"], f"{name}/replay", blocks),
        with_blocks(by_name["memory"], f"{name}/marks", blocks),
    ], {workload.id: workload, **replay}


def measured(request: Request, folder: Path) -> Analysis:
    """Measure what is missing in the folder. Raises HeaplabError if that was interrupted."""
    path = folder / store.FILE_NAME
    if path.exists():
        results = store.load(path)
        if results.end and results.campaign.id == campaigns.campaign_of(request).id:
            return Analysis(results)
    opened, needed = opened_for(request, folder, OPTIONS)
    if run_campaign(opened, needed, OPTIONS, "go on with the same command"):
        raise HeaplabError("not complete, so that no page was written")
    return Analysis(store.load(path))


def run(asked: argparse.Namespace) -> None:
    catalog, arms = chosen_arms.arms(contents.load(()), asked.allocators, (), None)
    if arms[0].allocator != chosen_arms.BASELINE:
        raise UsageError("--allocators: name glibc first: programs are recorded under it")
    folder: Path = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    experiments: list[spec.Experiment] = []
    workloads: dict[str, spec.Workload] = {}
    for name in asked.programs:
        own, theirs = experiments_about(catalog, name, arms[0], folder, asked.blocks)
        experiments += own
        workloads |= theirs
    request = Request(
        experiments=experiments,
        workloads=workloads,
        libraries=arms,
        scale="quick",
        seed=SEED,
        command=["research/replay_fidelity.py", *sys.argv[1:]],
    )
    analysis = measured(request, folder)
    programs = [Program(name, folder / f"{name}.trace", analysis) for name in asked.programs]
    text = fidelity_page.page(programs, analysis)
    put(text, asked.page)


def main(words: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__)
    add_programs(parser)
    parser.add_argument("--allocators", default=ALLOCATORS, help=f"glibc first [default: {ALLOCATORS}]")
    parser.add_argument("--blocks", type=int, default=10, help="rounds; from 6 on there are 95 %% intervals")
    parser.add_argument("--folder", type=Path, default=Path("out/fidelity"), help="[default: out/fidelity]")
    add_page(parser)
    asked = parser.parse_args(words)
    if not 1 <= asked.blocks <= 1000:
        parser.error("--blocks: takes 1 to 1000")
    try:
        run(asked)
    except HeaplabError as error:
        parser.exit(2, f"replay_fidelity: {error}\n")


if __name__ == "__main__":
    main()
