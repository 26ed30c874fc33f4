"""The metrics of a server's run, computed from its bursts and idle times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from heaplab.errors import HeaplabError
from heaplab.machine.process_tree import TreeMemory
from heaplab.programs.servers.readers import Figures
from heaplab.results import server_spec
from heaplab.results.records import Metric
from heaplab.results.server_spec import LAZILY_FREED, REQUESTS, Server

FAILED_SHARE = 0.01  # share of failed requests above which the server did not do its work


@dataclass(frozen=True)
class Burst:
    """One run of the load generator."""

    cpu: float  # s of CPU time that all processes of the server used meanwhile
    wall: float  # s
    figures: Figures  # of the load generator
    memory: TreeMemory  # just before the load generator ended


def refuse_failures(figures: Figures) -> None:
    """Raise HeaplabError if no request succeeded, or too many failed."""
    requests, errors = figures[REQUESTS], figures.get(server_spec.ERRORS, 0.0)
    if requests <= 0:
        raise HeaplabError("the load generator made no request")
    if errors > FAILED_SHARE * (requests + errors):
        raise HeaplabError(f"{errors:,.0f} of {requests + errors:,.0f} requests failed")


def metrics_of(
    server: Server, bursts: Sequence[Burst], idle: Mapping[float, TreeMemory]
) -> dict[str, Metric]:
    """CPU time over all bursts; means over the bursts of the load generator's figures; memory of the last."""
    requests = sum(burst.figures[REQUESTS] for burst in bursts)
    values = {
        server_spec.MAIN_METRIC: sum(burst.cpu for burst in bursts) / requests,
        server_spec.AFTER_LOAD: bursts[-1].memory.unreclaimable,
        LAZILY_FREED: bursts[-1].memory.lazily_freed,
        server_spec.GROWTH: bursts[-1].memory.unreclaimable / max(1, bursts[0].memory.unreclaimable),
    }
    for seconds, memory in idle.items():
        values[server_spec.idle_memory(seconds)] = memory.unreclaimable
        values[f"{LAZILY_FREED}_{server_spec.after_idle(seconds)}"] = memory.lazily_freed
    throughput = server_spec.THROUGHPUT
    by_burst = [{throughput: burst.figures[REQUESTS] / burst.wall} | burst.figures for burst in bursts]
    for name in set.intersection(*(set(burst) for burst in by_burst)):
        values[name] = fmean(burst[name] for burst in by_burst)
    declared = server.metrics()
    return {name: Metric(value=values[name], unit=declared[name].unit) for name in declared if name in values}
