#!/usr/bin/env python3
"""Count the instructions of the same work after ten histories of the heap.

Usage: same_counts.py HISTORIES LIBRARY

HISTORIES is the program of histories.cpp, which runs under valgrind's callgrind. What is executed in the
malloc of LIBRARY must be equal ten times. In all, the counts must agree to 0.01 %: memcpy and memchr of the
C library take another path where a block lies at the end of a page. Under the C library's malloc they must
not: else the work would show nothing. Exit status 0: so it is, 1: it is not, 2: wrong usage.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from counted import executed

TIMES = 10
TOLERANCE = 1e-4


def counts(histories: str, library: Path | None) -> tuple[list[int], list[int]]:
    """Return the instructions of each time: all of them, and those in the library."""
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        command = ["valgrind", "--command-line-only=yes", "--tool=callgrind", "--quiet", "--vgdb=no"]
        command += ["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"]
        command += [f"--log-file={folder}/log.%p", f"--callgrind-out-file={folder}/counts.%p", histories]
        environment = os.environ | ({"LD_PRELOAD": str(library)} if library else {})
        subprocess.run(command, check=True, env=environment)
        dumps = [path.read_text() for path in Path(folder).glob("counts.*")]
    dumps = [dump for dump in dumps if "Client Request: history" in dump]
    totals = [int(total) for dump in dumps for total in re.findall(r"^totals: (\d+)", dump, re.MULTILINE)]
    own = [sum(count for _, count in executed(dump, library)) for dump in dumps if library]
    return totals, own


def spread(totals: list[int]) -> float:
    return (max(totals) - min(totals)) / min(totals)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    histories, library = sys.argv[1], Path(sys.argv[2]).resolve()
    totals, own = counts(histories, library)
    common, _ = counts(histories, None)
    print(f"in {library.name}: {sorted(set(own))}, in all {sorted(set(totals))}, {spread(totals):.5%} apart")
    print(f"under the C library's malloc: {sorted(set(common))}, {spread(common):.5%} apart")
    is_right = len(totals) == len(common) == TIMES and len(set(own)) == 1
    is_right = is_right and spread(totals) <= TOLERANCE < spread(common)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
