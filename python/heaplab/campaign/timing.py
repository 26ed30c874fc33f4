"""How the arms of an experiment are timed: by rules fixed beforehand, applied to what its first block showed.

The first block runs its arms one after the other, and every arm is watched (machine/behaviour.py). Then arms
run *in slices*, at the same time and in turns on the same CPUs, unless one of these holds. The first that
holds is recorded:

1. `--no-slices` was given, or instructions are counted;
2. a server waits for its clients, which would have to take turns with it;
3. --prepare or --cleanup: what they act on would be shared by arms that run at once;
4. the answer is about memory, or single calls are timed: pauses give timers of purging more time, and
   interrupt calls;
5. an arm was not watched often enough, because it ended too soon or failed;
6. an arm does what a pause or a second one beside it may disturb (Behaviour.oddities);
7. an arm waits for more than MOST_WAITING of its time: its timers would go on while it is stopped;
8. an arm has more busy threads than there are CPUs;
9. the peaks of all arms together do not fit in memory.

If the main metric is the wall time, *CPU time* decides in its place if no arm waits for more than
MOST_WAITING with one thread busy at a time, or for more than HARDLY_WAITING with several: CPU time is then
what the program would take on CPUs of its own. Else the wall time decides; in slices, that of its own turns.
Of a server its CPU time per request decides, whatever else runs on the machine.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Literal

from heaplab.campaign import memory_needs
from heaplab.campaign.plan import Cell, Comparison
from heaplab.machine.behaviour import WRITES
from heaplab.results.records import Behaviour, Campaign, Run, Status, Timing
from heaplab.results.server_spec import MAIN_METRIC

MOST_WAITING = 0.10
HARDLY_WAITING = 0.03  # no more than the threshold of a verdict
ONE_THREAD = 1.1  # busy threads, mean over a run
Clock = Literal["wall_time", "cpu_time"]
CPU: Clock = "cpu_time"
WALL: Clock = "wall_time"


def timing_of(campaign: Campaign, comparisons: Sequence[Comparison], runs: Sequence[Run]) -> Timing:
    """How the experiment of these comparisons is timed, by `runs`, the runs of their first blocks."""
    experiment = comparisons[0].experiment
    good = [run for run in runs if run.status is Status.OK]
    alone = why_alone(campaign, comparisons, good)
    clock, why_clock = clock_of(campaign, comparisons[0], [run.behaviour for run in good])
    return Timing(
        experiment=experiment.id, slices=not alone, clock=clock, why_alone=alone, why_clock=why_clock
    )


def why_alone(campaign: Campaign, comparisons: Sequence[Comparison], runs: Sequence[Run]) -> str:
    return (
        why_never(campaign, comparisons)
        or why_not_watched(runs)
        or why_disturbed(comparisons[0].cells[0], [run.behaviour for run in runs if run.behaviour])
        or why_too_large(campaign, comparisons, runs)
    )


def why_never(campaign: Campaign, comparisons: Sequence[Comparison]) -> str:
    """Why the arms of an experiment cannot run in slices, whatever they do; "" if they may."""
    cell = comparisons[0].cells[0]
    experiment, workload = cell.experiment, cell.workload
    main = workload.metrics.get(experiment.main_metric or workload.main_metric)
    latency = any(dict(each.parameters).get("latency") for item in comparisons for each in item.cells)
    hooks = campaign.prepare or campaign.cleanup
    of_memory = not isinstance(experiment.aspect, str) and experiment.aspect.measure == "memory"
    reasons = {
        "--no-slices asked for it": not campaign.slices,
        "instructions are counted": campaign.instructions,
        "a server waits for its clients": workload.server,
        "what --prepare and --cleanup act on would be shared": workload.is_users and hooks,
        "the answer is about memory, which timers of purging change": of_memory,
        "the answer is not about time": main and main.unit not in ("s", "1/s"),
        "single calls are timed": latency,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def why_not_watched(runs: Sequence[Run]) -> str:
    unseen = [run.allocator for run in runs if run.behaviour is None]
    if not runs:
        return "no arm ended well"
    return f"it ended too soon under {unseen[0]} to be watched" if unseen else ""


def why_disturbed(cell: Cell, seen: Sequence[Behaviour]) -> str:
    for behaviour in seen:
        # files do not matter to heaplab's own programs: each run has a folder of its own
        if odd := [text for text in behaviour.oddities if cell.workload.is_users or text != WRITES]:
            return odd[0]
        if behaviour.waiting > MOST_WAITING:
            return f"it waits {behaviour.waiting:.0%} of its time"
        cpus = len(os.sched_getaffinity(0))
        if behaviour.busy > cpus + ONE_THREAD - 1:
            return f"it keeps {behaviour.busy:.1f} threads busy, and there are {cpus} CPUs"
    return ""


def why_too_large(campaign: Campaign, comparisons: Sequence[Comparison], runs: Sequence[Run]) -> str:
    """Why the arms of one comparison do not fit in memory together; "" if they do."""
    most = campaign.memory_limit or memory_needs.of_this_machine()
    for comparison in comparisons:
        keys = {cell.key for cell in comparison.cells}
        together = sum(run.process.peak_memory or 0 for run in runs if run.process and run.key in keys)
        if together > most:
            return f"all arms together need {memory_needs.in_words(together)} of memory"
    return ""


def clock_of(
    campaign: Campaign, comparison: Comparison, seen: Sequence[Behaviour | None]
) -> tuple[Clock, str]:
    """The clock that decides, and why."""
    known = [behaviour for behaviour in seen if behaviour]
    if is_by_request(comparison):
        return CPU, "other programs hardly change it, unlike throughput and latency, and every run counts"
    if campaign.instructions or comparison.cells[0].workload.server:
        return WALL, "what it is asked for decides what it does"
    if len(known) < len(seen) or not known:
        return WALL, "it could not be watched"
    waiting = max(entry.waiting for entry in known)
    several = [entry for entry in known if entry.busy > ONE_THREAD]
    if waiting > MOST_WAITING:
        return WALL, f"it waits up to {waiting:.0%} of its time, which CPU time leaves out"
    if several and max(behaviour.waiting for behaviour in several) > HARDLY_WAITING:
        return WALL, "its threads wait for each other, which CPU time leaves out"
    who = "its threads hardly wait" if several else "one thread at a time computes and hardly waits"
    return CPU, f"{who}, so other programs change its wall time and not its CPU time"


def is_by_request(comparison: Comparison) -> bool:
    """Whether the CPU time of a server per request decides: then no run is disturbed (decision 85)."""
    workload = comparison.cells[0].workload
    main = comparison.experiment.main_metric or workload.main_metric
    return workload.server is not None and main == MAIN_METRIC


def on_one_cpu(runs: Iterable[Run]) -> bool:
    """Whether every arm of a comparison keeps one thread busy at a time, by its runs in the first block."""
    seen = [run.behaviour for run in runs if run.behaviour]
    return bool(seen) and all(behaviour.busy <= ONE_THREAD for behaviour in seen)
