#!/usr/bin/env python3
"""Count how often `heaplab budget` fails an unchanged program with threads, and finds what was planted in it.

The program is tests/python/budgets/budgeted.cpp: six threads that take requests as the system lets them. Its
budget is written as --update does, then the program is checked as often as asked, as the command does it.

Example, some 20 seconds:
    research/budget_runs.py --unchanged 20 --planted 1
"""

import subprocess
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path

from command_line import parser_of
from heaplab.budgets import budget_file
from heaplab.budgets.growth_beyond import beyond
from heaplab.budgets.run_budget import Recorder, judged, write
from heaplab.budgets.spending import spending_of

SOURCE = Path(__file__).parents[1] / "tests/python/budgets/budgeted.cpp"
FLAGS = ["-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread"]
RECORDINGS = 3  # the default of the command
# What each kind of planted allocation is called in the program.
NAMES = {
    **{1: "planted_block", 2: "parsed", 3: "parsed", 4: "planted_block", 5: "answered"},
    **{6: "planted_block", 7: "buffered", 8: "parsed", 9: "planted_block", 10: "planted_block"},
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--unchanged", type=int, default=1000, help="runs of the unchanged program")
    parser.add_argument("--planted", type=int, default=10, help="runs with each planted allocation")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heaplab-") as name:
        count(Path(name), asked.unchanged, asked.planted)


def count(folder: Path, unchanged: int, planted: int) -> None:
    program, file = str(folder / "budgeted"), folder / "x.toml"
    subprocess.run(["c++", *FLAGS, "-o", program, SOURCE], check=True)

    def recorder(*words: str) -> Recorder:
        return Recorder(folder / "x.trace", (program, *words), (), None)

    write(file, program, recorder(), RECORDINGS, budget_file.Tolerance())
    budget = budget_file.read(file)
    single = failed = 0
    grown: Counter[str] = Counter()  # what was beyond in a first recording
    for _ in range(unchanged):
        excesses = beyond(budget, spending_of(recorder().profile()))
        if excesses:
            single += 1
            failed += bool(judged(budget, recorder(), RECORDINGS - 1))
            grown.update(f"{what} of {excess.spender.site}" for excess in excesses for what in excess.grown)
    print(f"{date.today()}: {unchanged} unchanged, {failed} failed; {single} after their first recording")
    for said, times in grown.most_common():
        print(f"beyond after a first recording, {times} times: {said}")
    for kind, function in NAMES.items() if planted else ():
        firsts = [judged(budget, recorder(str(kind)), RECORDINGS)[:1] for _ in range(planted)]
        named = sum(excess.spender.site.startswith(f"{function}(") for first in firsts for excess in first)
        print(f"planted {kind}: named first in {named} of {planted}")


if __name__ == "__main__":
    main()
