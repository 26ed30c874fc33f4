"""The pilot of a plan: it decides once, on the planner's machine, how every shard times each experiment.

Two shards of one node that chose a clock or slices by themselves might choose differently, and their figures
could not be put together. The rules are those of any campaign (campaign/timing.py), applied to one run of
every arm in the first and the last comparison of each experiment. A run ends at PATIENCE_S: what it does is
known by then.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import inf

from heaplab.campaign import memory_needs, plan, timing
from heaplab.campaign.begin_or_resume import Request, campaign_of
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.pilot import as_option
from heaplab.campaign.plan import Comparison, library_of
from heaplab.campaign.trial import PATIENCE_S, fitting_memory, tried
from heaplab.comparison.benchmark import Benchmark
from heaplab.comparison.outlook import SPARE, BlockForecast
from heaplab.results.records import BETWEEN_S, CONTROL_SUFFIX, Arm, Run, Status, Timing
from heaplab.screen.notes import note
from heaplab.stats import FEWEST_PAIRS
from heaplab.text import units
from heaplab.text.units import duration


@dataclass
class PlanPilot:
    timings: dict[str, Timing] = field(default_factory=dict)  # by experiment
    pace: dict[str, float] = field(default_factory=dict)  # s that a block of every cell takes, by allocator

    def outlook(self, precision: float, budget: float | None) -> str:
        """What a node's budget has room for; "" without two arms that ended well. Noise is not known yet."""
        left = inf if budget is None else budget
        forecast = BlockForecast(0.0, precision, 0, FEWEST_PAIRS, self.pace, left)
        if not forecast.others:
            return ""
        every, whole = len(forecast.others), forecast.seconds(forecast.others, FEWEST_PAIRS)
        fit = len(forecast.fitting(FEWEST_PAIRS))
        need = (
            f"a node like this machine needs about {duration(whole)} for the {FEWEST_PAIRS} blocks that a "
            f"verdict on {units.counted(every, 'allocator')} takes"
        )
        if fit == every:
            return need
        room = f"room for {fit}" if fit else "room for none, and nothing will be decided"
        return f"{need}; the budget has {room}: --budget {as_option(SPARE * whole)} has room for all"


def pilot(benchmark: Benchmark, arms: Sequence[Arm], seed: int, *, quiet: bool) -> PlanPilot:
    """Without the experiments that do not fit in this machine's memory."""
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
    baseline = arms[0].allocator
    control = baseline + CONTROL_SUFFIX
    piloted = PlanPilot(pace=dict.fromkeys((baseline, control), 0.0))
    with RunMeasurer(campaign, {arm.allocator: arm for arm in arms}, needed) as measure:
        fitting = fitting_memory(campaign, needed)
        for name, group in groupby(fitting, key=lambda comparison: comparison.experiment.id):
            every = list(group)
            among = tried(every)
            runs = [run for comparison in among for run in first_runs(measure, comparison)]
            one_cpu = timing.on_one_cpu(runs)
            for run in runs:
                wall = run.process.wall_time * run.process.executions if run.process else 0.0
                took = len(every) / len(among) * (wall + BETWEEN_S)
                names = [run.allocator, *([control] if run.allocator == baseline else [])]
                piloted.pace |= {each: piloted.pace.get(each, 0.0) + took for each in names}
            piloted.timings[name] = timing.timing_of(campaign, among, runs).model_copy(
                update={"one_cpu": one_cpu}
            )
    return piloted


def first_runs(measure: RunMeasurer, comparison: Comparison) -> Iterator[Run]:
    """A run of every arm but the control. One that was ended at the limit counts: it was watched."""
    block = plan.block(measure.campaign, comparison, 0)
    for candidate in block.order:
        if candidate.allocator == library_of(candidate.allocator):
            run = measure(block, candidate, 0, attempt=1)
            cut_off = run.status is Status.TIMEOUT and run.behaviour
            yield run.model_copy(update={"status": Status.OK}) if cut_off else run
