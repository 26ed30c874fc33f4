#!/usr/bin/env python3
"""Run local_cost in several processes and print tables of the medians with 95 % intervals.

Each process gets an environment of another size, so that no one layout of the stack decides.
Usage: measure.py LOCAL_COST [PROCESSES, default 11]
"""

import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from statistics import median

LABELS = {
    "heaplab_monotonic_typed": "heaplab, typed",
    "heaplab_monotonic": "heaplab",
    "std_monotonic": "std::pmr",
    "boost_monotonic": "Boost",
    "heaplab_pools_typed": "heaplab, typed",
    "heaplab_pools": "heaplab",
    "heaplab_pools_over_monotonic": "heaplab, over monotonic",
    "std_pools": "std::pmr",
    "boost_pools": "Boost",
}
RESAMPLES = 2000


def run(program: str) -> list[dict]:
    environment = os.environ | {"PADDING": "x" * random.randrange(4096)}
    command = [program, "--benchmark_min_time=0.01", "--benchmark_format=json"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    return json.loads(done.stdout)["benchmarks"]


def interval(values: list[float]) -> tuple[float, float, float]:
    """Return the median and the percentile-bootstrap interval of the median."""
    medians = sorted(median(random.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return median(values), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def shown(values: list[float], overhead: bool) -> str:
    middle, low, high = interval(values)
    if overhead:  # the same in every process
        return f"{100 * middle:.1f} %"
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def main() -> int:
    program = sys.argv[1]
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    tables: dict[tuple[str, bool], dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for _ in range(processes):
        for benchmark in run(program):
            figure, rest = benchmark["name"].split("<")
            contender, argument = rest.split(">")
            overhead = "overhead" in benchmark
            value = benchmark["overhead"] if overhead else 1e9 / benchmark["items_per_second"]
            row = (
                argument.removesuffix("/iterations:1").strip("/").replace("/", ", ").replace(":", " ")
                or "strings"
            )
            row = row.replace("bytes 0,", "strings,")
            kind = "pools" if "pools" in contender else "monotonic"
            tables[f"{figure}, {kind}", overhead][row][LABELS[contender]].append(value)
    for (figure, overhead), rows in tables.items():
        columns = list(next(iter(rows.values())))
        print(f"\n{figure}, {'bytes beyond those asked for' if overhead else 'ns an allocation'}\n")
        print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
        for row, cells in rows.items():
            print(f"| {row} | " + " | ".join(shown(cells[c], overhead) for c in columns) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
