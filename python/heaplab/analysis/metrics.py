"""Metrics that need no declaration: what every process has, and the latencies every workload can sample."""

from heaplab import spec
from heaplab.records import Process, Run

PROCESS_METRICS = {
    "wall": spec.MetricSpec(title="wall time", unit="s"),
    "user": spec.MetricSpec(title="user time", unit="s"),
    "system": spec.MetricSpec(title="system time", unit="s"),
    "cpu": spec.MetricSpec(title="CPU time", unit="s"),
    "peak_memory": spec.MetricSpec(title="peak memory", unit="B"),
    "mean_memory": spec.MetricSpec(title="mean memory", unit="B"),
    "page_faults": spec.MetricSpec(title="page faults", unit="1"),
    "voluntary_switches": spec.MetricSpec(title="voluntary switches", unit="1"),
    "involuntary_switches": spec.MetricSpec(title="involuntary switches", unit="1"),
}
MEMORY = "peak_memory"
FAULTS = "page_faults"

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


def value_of(run: Run, metric: str, declared: bool) -> float | None:
    """A run's value: from its sample if the workload declares the metric, else from outside; None without."""
    if declared or metric in LATENCY_METRICS:
        found = run.sample.metrics.get(metric) if run.sample else None
        return found.value if found else None
    return _process_value(run.process, metric) if run.process else None


def _process_value(process: Process, metric: str) -> float | None:
    if metric in ("peak_memory", "mean_memory") and not process.memory:
        return None  # it ended before anybody looked
    if metric == "cpu":
        return process.user + process.system
    if metric == FAULTS:
        return process.minor_faults + process.major_faults
    return float(getattr(process, metric))
