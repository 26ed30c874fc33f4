"""Several executions of a short program as one run, because one execution is too short to be measured."""

from collections.abc import Callable, Sequence
from statistics import fmean

from heaplab.machine.execute import Execution, Steps
from heaplab.records import Process


def in_a_row(count: int, once: Callable[[], Steps[Execution]]) -> Steps[Execution]:
    """Execute `count` times and merge the results.

    A failed execution ends the series and is returned alone.
    """
    done: list[Execution] = []
    for _ in range(count):
        done.append((yield from once()))
        if done[-1].exit_status != 0:
            return done[-1]
    return done[0] if count == 1 else merged(done)


def merged(done: Sequence[Execution]) -> Execution:
    """The means of times and counts, the largest peak with its curve, and all mapped files."""
    return Execution(
        exit_status=0,
        killed_for="",
        process=mean_of([execution.process for execution in done]),
        seen=sum(execution.seen for execution in done),
        mapped=set().union(*(execution.mapped for execution in done)),
    )


def mean_of(processes: Sequence[Process]) -> Process:
    def mean(name: str) -> float:
        return fmean(getattr(one, name) for one in processes)

    highest = max(processes, key=lambda one: one.peak_memory or 0)
    known = [one.mean_memory for one in processes if one.mean_memory is not None]
    return Process(
        wall_time=mean("wall_time"),
        user_time=mean("user_time"),
        system_time=mean("system_time"),
        minor_faults=round(mean("minor_faults")),
        major_faults=round(mean("major_faults")),
        voluntary_switches=round(mean("voluntary_switches")),
        involuntary_switches=round(mean("involuntary_switches")),
        executions=len(processes),
        peak_memory=highest.peak_memory,
        mean_memory=fmean(known) if known else None,
        memory=highest.memory,
    )
