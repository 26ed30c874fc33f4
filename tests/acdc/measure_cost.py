#!/usr/bin/env python3
"""Measure what ACDC itself costs, for each object, beside what allocators cost.

The mutator's own time is what is left of wall_time without allocation, deallocation and access: drawing,
bookkeeping, the clock and the samples of memory. The loops around the calls, with the links, are the times
under --pseudo-allocator null. Processes take turns, each with an environment of another size.

Usage: measure_cost.py ACDC [NAME=LIBRARY ...]
"""

import json
import os
import random
import subprocess
import sys
from statistics import median

PROCESSES = 15
RESAMPLES = 2000
OPTIONS = ["--ticks", "200", "--no-access-live-objects"]


def run(program: str, options: list[str], library: str) -> dict[str, float]:
    environment = os.environ | {"PADDING": "x" * random.randrange(4096)}
    if library:
        environment["LD_PRELOAD"] = library
    command = [program, *OPTIONS, *options, "--json", "-"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    metrics = {name: metric["value"] for name, metric in json.loads(done.stdout)["metrics"].items()}
    ns = 1e9 / metrics["allocated_objects"]
    timed = metrics["allocation_time"] + metrics["deallocation_time"]
    return {"own": (metrics["wall_time"] - timed - metrics["access_time"]) * ns, "timed": timed * ns}


def shown(values: list[float]) -> str:
    """Return the median and the percentile-bootstrap 95 % interval of the median."""
    medians = sorted(median(random.choices(values, k=len(values))) for _ in range(RESAMPLES))
    low, high = medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]
    return f"{median(values):.2f} ({low:.2f} to {high:.2f})"


def main() -> int:
    if len(sys.argv) < 2 or any("=" not in argument for argument in sys.argv[2:]):
        print(__doc__, file=sys.stderr)
        return 2
    cells = {"null": (["--pseudo-allocator", "null"], ""), "C library": ([], "")}
    for argument in sys.argv[2:]:
        name, library = argument.split("=", 1)
        cells[name] = ([], library)
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in cells}
    for _ in range(PROCESSES):
        for name in random.sample(list(cells), len(cells)):
            measured[name].append(run(sys.argv[1], *cells[name]))
    print("| under | outside the timed stretches, ns an object | allocation and deallocation, ns an object |")
    print("|---|---|---|")
    for name, runs in measured.items():
        print(f"| {name} | {shown([r['own'] for r in runs])} | {shown([r['timed'] for r in runs])} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
