#!/usr/bin/env python3
"""Count cache misses of reading ACDC's objects under several allocators, by cachegrind: scalloc, section 7.6.

The options are those of figure 11 at a list ratio of 60 %. What a run costs that reads no object is
subtracted. Prints a table of Markdown.
Examples: research/cache_events.py bin/acdc glibc= scalloc-paper=lib/libheaplab_scalloc-paper.so
          research/cache_events.py --options '--list-order random' bin/acdc glibc=
"""

import os
import re
import subprocess
from dataclasses import dataclass

from command_line import parser_of

OPTIONS = (
    "--min-size 16 --max-size 32 --min-liveness 1 --max-liveness 10 --time-quantum 1000000 --ticks 30 "
    "--write-access-ratio 0 --list-ratio 60 --json /dev/null"
)
# The first-level cache of the paper's machine.
CACHEGRIND = "--tool=cachegrind --cache-sim=yes --D1=32768,8,64 --cachegrind-out-file=/dev/null"


@dataclass(frozen=True)
class Reads:
    loads: int
    misses: int

    def without(self, other: "Reads") -> "Reads":
        return Reads(self.loads - other.loads, self.misses - other.misses)


def counted(report: str, line: str) -> int:
    """The loads in a line of cachegrind's report: "D1  misses:  4,891,588  ( 4,762,750 rd + 128,838 wr)"."""
    match = re.search(rf"{line}:\s+[\d,]+\s+\(\s*([\d,]+) rd", report)
    if not match:
        raise SystemExit(f"cachegrind printed no line '{line}'")
    return int(match[1].replace(",", ""))


def reads(program: str, library: str, more: str) -> Reads:
    command = ["valgrind", *CACHEGRIND.split(), program, *OPTIONS.split(), *more.split()]
    done = subprocess.run(
        command, env=os.environ | {"LD_PRELOAD": library}, check=True, capture_output=True, text=True
    )
    return Reads(counted(done.stderr, "D   refs"), counted(done.stderr, "D1  misses"))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--options", default="", help="more options of acdc")
    parser.add_argument("program", help="acdc")
    parser.add_argument("arms", nargs="+", metavar="NAME=LIBRARY", help="an empty LIBRARY: the C library's")
    arguments = parser.parse_args()
    print("| allocator | loads | L1 misses | miss rate |\n|---|--:|--:|--:|")
    for arm in arguments.arms:
        name, _, library = arm.partition("=")
        with_access = reads(arguments.program, library, arguments.options)
        without = reads(arguments.program, library, f"{arguments.options} --no-access-live-objects")
        of_access = with_access.without(without)
        rate = 100 * of_access.misses / of_access.loads
        print(f"| {name} | {of_access.loads:,} | {of_access.misses:,} | {rate:.1f} % |")


if __name__ == "__main__":
    main()
