#!/usr/bin/env python3
"""Print the CPU seconds of commands that measure nothing, the least of several runs each.

What is aimed at is less than 0.2 s. On a machine that does other work the figures are larger.
Example: research/start_cost.py --runs 9 .venv/bin/heaplab
"""

import argparse
import resource
import subprocess

COMMANDS = ["--version", "--help", "path scalloc", "path jemalloc", "with glibc -- true", "list suites"]
COMMANDS += ["list allocators", "doctor", "compare --help"]


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cost(command: list[str]) -> tuple[float, int]:
    """CPU seconds, and the exit status: a command that fails early is cheap and says nothing."""
    before = used()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return used() - before, done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("heaplab", nargs="?", default=".venv/bin/heaplab", help="[default: %(default)s]")
    parser.add_argument("--runs", type=int, default=5, help="of each command [default: %(default)s]")
    given = parser.parse_args()
    if given.runs < 1:
        parser.error(f"--runs {given.runs}: allowed is 1 or more")
    for words in COMMANDS:
        try:
            least, status = min(cost([given.heaplab, *words.split()]) for _ in range(given.runs))
        except OSError as error:
            parser.error(f"{given.heaplab}: {error.strerror}")
        print(f"{least:.3f} s  heaplab {words}" + (f"  [exit status {status}]" if status else ""))


if __name__ == "__main__":
    main()
