#!/usr/bin/env python3
"""Print the CPU seconds of commands that measure nothing, the least of five runs each.

Usage: tools/start_cost.py [HEAPLAB]     [default: .venv/bin/heaplab]; what is aimed at is 0.2 s
"""

import resource
import subprocess
import sys

COMMANDS = ["--version", "--help", "path scalloc", "path jemalloc", "with glibc -- true", "list suites"]
COMMANDS += ["list allocators", "doctor", "compare --help"]
RUNS = 5


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cost(command: list[str]) -> float:
    before = used()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return used() - before


heaplab = sys.argv[1] if len(sys.argv) > 1 else ".venv/bin/heaplab"
for words in COMMANDS:
    print(f"{min(cost([heaplab, *words.split()]) for _ in range(RUNS)):.3f} s  heaplab {words}")
