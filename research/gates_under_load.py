#!/usr/bin/env python3
"""Gate a program against one that is slower by a known share, beside busy processes; count the outcomes.

The program allocates, writes and frees blocks in a loop, for some hundredths of a second; the slower does
so more often. Ways: time (`heaplab gate` as it is), counts (--instructions only-callgrind), auto (--auto). A
budget is kept if no gate took more than a tenth, or five seconds, beyond it.

Example: research/gates_under_load.py --loads 0,2,6 --gates 30 --budget 60 --kept gates.jsonl
Example: research/gates_under_load.py --ways counts --loads 0 --gates 3 --budget 60
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from command_line import parser_of
from kept_tries import KeptTries, add_kept, busy, end_as_by_interrupt

WAYS = {"time": [], "counts": ["--instructions", "only-callgrind"], "auto": ["--auto"]}
PLANTED = (0.05, 0.03, 0.0)
ROUNDS = 12_000
KEPT = 1.1, 5.0  # factor of a budget, and s beyond it
PROGRAM = """
#include <stdlib.h>
#include <string.h>
int main(void) {
  static void* volatile kept[64];
  for (long i = 0; i < ROUNDS * 64L; ++i) {
    free(kept[i % 64]);
    kept[i % 64] = malloc(16 + i % 997);
    memset(kept[i % 64], 1, 16);
  }
}
"""


def built(folder: Path, share: float) -> Path:
    """The program with so much more to do."""
    program = folder / f"slower-{share:g}"
    source = folder / "program.c"
    source.write_text(PROGRAM)
    rounds = f"-DROUNDS={round(ROUNDS * (1 + share))}"
    subprocess.run(["cc", "-O1", rounds, "-o", str(program), str(source)], check=True)
    return program


def gate(old: Path, new: Path, words: list[str], folder: Path, seed: int) -> tuple[str, float]:
    """The outcome of a gate, and the s it took."""
    began = time.monotonic()
    command = [sys.executable, "-m", "heaplab", "gate", str(old), str(new), "-q", "--json", "-o", str(folder)]
    done = subprocess.run(
        [*command, "--seed", str(seed), *words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False
    )
    took = time.monotonic() - began
    lines = done.stdout.decode().splitlines()
    return (json.loads(lines[-1])["outcome"] if lines else f"status {done.returncode}"), took


def rows(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    yield "| way | busy beside | planted | outcomes | longest | budget kept |\n|---|---|---|---|---|---|"
    old = built(folder, 0.0)
    new = {share: built(folder, share) for share in PLANTED}
    kept = KeptTries(given.kept)
    most = max(KEPT[0] * given.budget, given.budget + KEPT[1])
    for way in given.ways.split(","):
        words = [*WAYS[way], "--max-slower", given.limit, "--budget", f"{given.budget:g}s"]
        for load in map(int, given.loads.split(",")):
            for share, program in new.items():
                with busy(load):
                    gates = [
                        kept.of([*words, load, share, seed], gate, old, program, words, folder / "gate", seed)
                        for seed in range(given.gates)
                    ]
                names = Counter(name for name, _ in gates)
                outcomes = ", ".join(f"{count} {name}" for name, count in names.items())
                longest = max(took for _, took in gates)
                in_time = sum(took <= most for _, took in gates)
                row = (way, load, f"{share:.0%}", outcomes, f"{longest:.0f} s", f"{in_time} of {len(gates)}")
                yield f"| {' | '.join(map(str, row))} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--ways", default=",".join(WAYS), help="[default: %(default)s]")
    parser.add_argument("--loads", default="0,2,6", help="busy processes beside  [default: %(default)s]")
    parser.add_argument("--gates", type=int, default=30, help="of each kind  [default: %(default)s]")
    parser.add_argument("--budget", type=float, default=60.0, help="s of a gate  [default: %(default)s]")
    parser.add_argument("--limit", default="2%", help="--max-slower  [default: %(default)s]")
    add_kept(parser)
    given = parser.parse_args()
    end_as_by_interrupt()
    with tempfile.TemporaryDirectory(prefix="gates-") as name:
        for line in rows(given, Path(name)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
