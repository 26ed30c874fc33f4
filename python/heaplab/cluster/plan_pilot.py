"""The pilot of a plan: it decides once, on the planner's machine, how every shard times each experiment.

Two shards of one node that chose a clock or slices by themselves might choose differently, and their figures
could not be put together. The rules are those of any campaign (campaign/timing.py), applied to one run of
every arm in the first and the last comparison of each experiment. A run ends at PATIENCE_S: what it does is
known by then.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from heaplab.campaign import memory_needs, plan, timing
from heaplab.campaign.begin_or_resume import Request, campaign_of
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Comparison, library_of
from heaplab.campaign.trial import PATIENCE_S, fitting_memory, tried
from heaplab.comparison.benchmark import Benchmark
from heaplab.results.records import Arm, Run, Status, Timing
from heaplab.screen.notes import note
from heaplab.text import units


def timings(benchmark: Benchmark, arms: Sequence[Arm], seed: int, *, quiet: bool) -> dict[str, Timing]:
    """How each experiment of a plan is timed; those that do not fit in this machine's memory are left out."""
    request = Request(
        experiments=benchmark.experiments,
        workloads=benchmark.workloads,
        scale=benchmark.scale,
        input=benchmark.input,
        libraries=arms,
        command=sys.argv,
        seed=seed,
        warm=0,
        time_limit=PATIENCE_S,
    )
    campaign = campaign_of(request)
    needed = memory_needs.estimates(plan.comparisons(campaign))
    if not quiet:
        count = units.counted(len(benchmark.experiments), "experiment")
        note(f"tries how {count} are timed, with a run of every arm")
    timing_by_name = {}
    with RunMeasurer(campaign, {arm.allocator: arm for arm in arms}, needed) as measure:
        fitting = fitting_memory(campaign, needed)
        for name, group in groupby(fitting, key=lambda comparison: comparison.experiment.id):
            among = tried(list(group))
            runs = [run for comparison in among for run in first_runs(measure, comparison)]
            one_cpu = timing.on_one_cpu(runs)
            timing_by_name[name] = timing.timing_of(campaign, among, runs).model_copy(
                update={"one_cpu": one_cpu}
            )
    return timing_by_name


def first_runs(measure: RunMeasurer, comparison: Comparison) -> Iterator[Run]:
    """A run of every arm but the control. One that was ended at the limit counts: it was watched."""
    block = plan.block(measure.campaign, comparison, 0)
    for candidate in block.order:
        if candidate.allocator == library_of(candidate.allocator):
            run = measure(block, candidate, 0, attempt=1)
            cut_off = run.status is Status.TIMEOUT and run.behaviour
            yield run.model_copy(update={"status": Status.OK}) if cut_off else run
