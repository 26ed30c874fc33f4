"""Count what a workload executes while its clock runs, by callgrind: instructions and cache misses.

A whole run has preparation and checks too, of which some build a structure once more: in short runs they are
most of it.
"""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from heaplab.machine.callgrind import CLOCKED

# 32 KiB, and 1 MiB of the last level.
CACHES = "--cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=1048576,16,64"


@dataclass(frozen=True)
class Counts:
    instructions: int
    first_misses: int = 0  # of data in the first level
    last_misses: int = 0


def counted(program: Path, options: Mapping[str, object], *, caches: bool = False) -> Counts:
    """Raises SystemExit if the program fails, or has no such part."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", CLOCKED]
    words += CACHES.split() if caches else []
    words += [str(program), *(f"--{name}={value}" for name, value in options.items())]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    match = re.search(r"Collected : ([\d ]+)", ended.stderr)
    if ended.returncode or not match:
        raise SystemExit(f"{program.name}: {ended.stderr}")
    events = list(map(int, match[1].split()))
    if not events[0]:
        raise SystemExit(f"{program.name}: nothing was counted")
    if not caches:
        return Counts(events[0])
    _, _, _, _, reads, writes, _, reads_last, writes_last = events
    return Counts(events[0], reads + writes, reads_last + writes_last)
