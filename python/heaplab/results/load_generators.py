"""The load generators whose output heaplab reads."""

# The figures in the output of each load generator beside the number of requests and the throughput.
READERS = {
    "wrk": ("latency_p50", "latency_p99"),
    "wrk2": ("latency_p50", "latency_p99", "latency_p999"),
    "redis-benchmark": ("latency_p50", "latency_p99", "latency_p999"),
    "memtier": ("latency_p50", "latency_p99", "latency_p999"),
    "pgbench": ("latency_mean",),
    "ab": ("latency_p50", "latency_p99"),
    "h2load": ("latency_mean",),
}
