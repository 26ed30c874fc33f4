#!/usr/bin/env python3
"""Compile every public header alone, and look at what a compiler says of a refused use.

Each as C++23 without exceptions and RTTI, a use of all also as C++20 with both, warnings are errors; the C
header also as C99, C23 and C++11. Exit status 0: all as it should be, 1: not, 2: a compiler is not there.
Example: tests/compilers/run.py g++ clang++-14
"""

import argparse
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import headers
import refusals


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--each", action="store_true", help="every combination, also without one of exceptions and RTTI alone"
    )
    parser.add_argument(
        "compilers", nargs="+", metavar="COMPILER", help="a C++ compiler as gcc and clang are"
    )
    arguments = parser.parse_args()
    absent = [name for name in arguments.compilers if not shutil.which(name)]
    if absent:
        parser.error(f"no such compiler here: {' '.join(absent)}")
    wrong: list[str] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for compiler in arguments.compilers:
            refused, count = headers.failures(compiler, arguments.each, pool)
            said = refusals.failures(compiler, pool)
            print(
                f"{compiler}: {count - len(refused)} of {count} compilations succeed, "
                f"{len(said)} refusals badly explained",
                flush=True,
            )
            wrong += refused + said
    print("\n".join(wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
