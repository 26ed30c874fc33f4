"""Metrics without a declaration: those of every process, and the latencies that every workload can sample."""

from collections.abc import Collection

from heaplab.results import spec
from heaplab.results.records import Process, Run

PROCESS_METRICS = {
    "wall_time": spec.MetricSpec(title="wall time", unit="s"),
    "user_time": spec.MetricSpec(title="user time", unit="s"),
    "system_time": spec.MetricSpec(title="system time", unit="s"),
    "cpu_time": spec.MetricSpec(title="CPU time", unit="s"),
    "peak_memory": spec.MetricSpec(title="peak memory with page tables", unit="B"),
    "mean_memory": spec.MetricSpec(title="mean memory with page tables", unit="B"),
    "end_memory": spec.MetricSpec(title="memory at the end with page tables", unit="B"),
    "footprint": spec.MetricSpec(title="peak memory with page tables", unit="B"),
    "page_faults": spec.MetricSpec(title="page faults", unit="1"),
    "voluntary_switches": spec.MetricSpec(title="voluntary switches", unit="1"),
    "involuntary_switches": spec.MetricSpec(title="involuntary switches", unit="1"),
}
# Hardware counters that a workload reads if they are available; absent otherwise.
COUNTED_METRICS = {"instructions": spec.MetricSpec(title="instructions in user mode", unit="1")}
PEAK = "peak_memory"  # a workload that declares this metric reports it without page tables
# the basis of verdicts on memory: includes page tables, the price of sparse address space
MEMORY = "footprint"
MEAN, END = "mean_memory", "end_memory"
WALL, CPU = "wall_time", "cpu_time"
FAULTS = "page_faults"
SYSTEM = "system_time"
INSTRUCTIONS = "instructions"

OPERATIONS = ("allocation", "free")
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
LATENCY_METRICS = {
    latency_metric: spec.MetricSpec(title=f"{operation} latency, {title}", unit="s")
    for operation in OPERATIONS
    for name, title in {
        "p50": "median",
        "p90": "90th percentile",
        "p99": "99th percentile",
        "p999": "99.9th percentile",
        "max": "largest",
    }.items()
    for latency_metric in [f"{operation}_latency_{name}"]
}


def value_of(run: Run, metric: str, declared: Collection[str]) -> float | None:
    """The value of a metric in a run; None if the run has none.

    A metric that the workload declares is in the sample; any other one comes from the process as seen from
    outside.
    """
    if metric == MEMORY and PEAK in declared and MEMORY not in declared:
        return _with_page_tables(run)
    if metric == CPU and WALL in declared:  # of what the workload's wall time is about
        return _sample_value(run, CPU)
    if metric in declared or metric in LATENCY_METRICS or metric in COUNTED_METRICS:
        return _sample_value(run, metric)
    return _process_value(run.process, metric) if run.process else None


def _with_page_tables(run: Run) -> float | None:
    """The peak that the workload reports, plus the largest page tables that workload or watcher saw."""
    peak, tables = (_sample_value(run, metric) for metric in (PEAK, "page_tables"))
    if peak is None or tables is None:
        return None
    seen = [at[2] for at in run.process.memory] if run.process else []
    return peak + max([tables, *seen])


def _sample_value(run: Run, metric: str) -> float | None:
    metric_value = run.sample.metrics.get(metric) if run.sample else None
    return metric_value.value if metric_value else None


def _process_value(process: Process, metric: str) -> float | None:
    if metric == MEMORY:
        metric = PEAK  # this peak already includes page tables
    if metric == CPU:
        return process.user_time + process.system_time
    if metric == END:
        return float(sum(process.memory[-1][1:])) if process.peak_memory and process.memory else None
    if metric == FAULTS:
        return process.minor_faults + process.major_faults
    value = getattr(process, metric)
    return None if value is None else float(value)
