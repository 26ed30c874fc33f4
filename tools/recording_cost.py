#!/usr/bin/env python3
"""Print what recording costs a program, as Markdown: alone, recorded, and recorded with stacks.

A round runs the program in all three ways in a shuffled order; a ratio is that of times of the same round.
The time is the program's: making the trace comes after, and is not part of it.
Example: tools/recording_cost.py 15 python3 -c 'sorted(map(str, range(10**5)))'
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from heaplab.catalog import contents
from heaplab.cli.selection import arm_of
from heaplab.machine.execute import environment_for
from heaplab.records import Arm
from heaplab.stats import ratios
from heaplab.traces import recording, tool

ALONE, RECORDED, STACKS = "alone", "recorded", "recorded with stacks"


def timed(program: Sequence[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(program, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def recorded(program: Sequence[str], library: Arm, stacks: bool) -> tuple[float, float]:
    """Seconds, and bytes an event of the trace."""
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        wanted = recording.Wanted(Path(folder, "x.trace"), library, stacks=stacks)
        with recording.around(wanted) as arm:
            seconds = timed(program, environment_for(arm))
        found = tool.summary(wanted.trace)
    return seconds, found["bytes"] / max(1, sum(process["events"] for process in found["processes"]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rounds", type=int, help="from 6 on, ratios have 95 %% intervals")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="with its arguments")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error(f"rounds {given.rounds}: allowed is 1 or more")
    if not given.program:
        parser.error("name a program")
    program, library = given.program, arm_of(contents.load(()), "glibc")
    seconds: dict[str, list[float]] = {ALONE: [], RECORDED: [], STACKS: []}
    event_bytes = {ALONE: 0.0}
    for _ in range(given.rounds):
        for way in random.sample(list(seconds), len(seconds)):
            if way == ALONE:
                seconds[way].append(timed(program, dict(os.environ)))
            else:
                taken, event_bytes[way] = recorded(program, library, way == STACKS)
                seconds[way].append(taken)
    print("| | time against alone | low | high | bytes an event |\n|---|---|---|---|---|")
    for way in (RECORDED, STACKS):
        found = ratios.compare(seconds[ALONE], seconds[way])
        print(
            f"| {way} | {found.estimate:.3f} | {found.low:.3f} | {found.high:.3f} | {event_bytes[way]:.2f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
