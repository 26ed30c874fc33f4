#!/usr/bin/env python3
"""Print what a silent process keeps of blocks that it wrote and freed, under each allocator.

The program is research/idle_memory.c: it writes and frees blocks of one size, makes no further call, and
2.5 s later reads its anonymous resident memory (`RssAnon`). The median of the runs, in MiB.

Example, two minutes:
    research/idle_memory.py --allocators glibc,scalloc --runs 3
"""

import statistics
import subprocess
import tempfile
from pathlib import Path

from command_line import parser_of
from heaplab.arms.chosen_arms import arm_of
from heaplab.catalog import contents
from heaplab.machine.execute import environment_for

ALLOCATORS = "scalloc,scalloc-hardened,glibc,jemalloc,mimalloc,tcmalloc"
REST_MS = 2500
# size of blocks and bytes of all, as the head of a column and in bytes
COLUMNS = {
    "64 B, 2 GiB": (64, 2 << 30),
    "1000 B, 2 GiB": (1000, 2 << 30),
    "3 MB, 512 MiB": (3_000_000, 512 << 20),
    "300 B, 24 MiB": (300, 24 << 20),
    "300 B, 12 MiB": (300, 12 << 20),
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--allocators", default=ALLOCATORS, help="names, with commas between them")
    parser.add_argument("--runs", type=int, default=3, help="processes for each figure")
    asked = parser.parse_args()
    known = contents.load(())
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        program = Path(folder) / "idle_memory"
        subprocess.run(["cc", "-O1", "-o", program, Path(__file__).with_suffix(".c")], check=True)
        print(f"| | {' | '.join(COLUMNS)} |")
        print(f"|---{'|---:' * len(COLUMNS)}|")
        for name in asked.allocators.split(","):
            environment = environment_for(arm_of(known, name))
            cells = [
                statistics.median(left(program, environment, *sizes) for _ in range(asked.runs))
                for sizes in COLUMNS.values()
            ]
            print(f"| {name} | {' | '.join(f'{cell / 1024:.1f}' for cell in cells)} |", flush=True)


def left(program: Path, environment: dict[str, str], size: int, live: int) -> int:
    """The KiB that one process keeps."""
    words = [program, str(size), str(live), str(REST_MS)]
    return int(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
