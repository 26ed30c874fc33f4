#!/usr/bin/env python3
"""Run workloads that show bad cases of allocators under a library, and compare counts with bounds.

Usage: bounds.py PROGRAMS LIBRARY

PROGRAMS is the folder of the workloads. Page faults and bytes hardly depend on what else the machine does;
there are no times here. Where many threads share a heap, the bytes depend on when each of them is stopped:
the least of three runs counts. Exit status 0: all hold, 1: one does not, 2: wrong usage.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

MIB = 1 << 20
TRIES = 3

# Workload, metric, the most it may be.
BOUNDS: list[tuple[str, str, float]] = [
    (
        "random_age --live-objects 1000 --replacements 50000 --emptied-every 100"
        " --min-size 8 --max-size 16KiB",
        "minor_faults",
        2_000,
    ),
    ("blowup --pattern generations --threads 1 --live-bytes 16MiB --rounds 100", "blowup", 1.45),
    ("blowup --pattern pool --threads 64 --live-bytes 8MiB --rounds 100", "blowup", 6),
    ("sparse --objects 64 --size 1MiB --zeroed --written-pages 0", "peak_memory", 1 * MIB),
    (
        "sparse --objects 1 --size 128MiB --no-zeroed --written-pages 64 --filled-first 4MiB",
        "peak_memory",
        8 * MIB,
    ),
]


def measured(programs: str, library: str, workload: str, metric: str) -> float:
    name, *options = workload.split()
    done = subprocess.run(
        [str(Path(programs) / name), *options, "--json", "-"],
        env=os.environ | {"LD_PRELOAD": library},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return float(json.loads(done.stdout)["metrics"][metric]["value"])


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    programs, library = sys.argv[1:]
    faults = 0
    for workload, metric, most in BOUNDS:
        value = min(measured(programs, library, workload, metric) for _ in range(TRIES))
        faults += value > most
        print(f"{'FAULT: ' if value > most else ''}{workload}: {metric} {value:g}, at most {most:g}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
