#!/usr/bin/env python3
"""Print what `heaplab advise` answers of programs whose answer is known, with each allocator as the first.

The programs are those of tests/python/advise/holders.c, whose tests ask for the same answers in one replay
each. A cell has the verdict and, where it names call sites, the first.

Example, a minute:
    research/known_programs.py --programs leak,pinned --allocators glibc,scalloc
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from command_line import parser_of
from heaplab.advise import run_advise
from heaplab.advise.answer import Evidence, HolderAnswer, Kind, answers_of
from heaplab.advise.replaying import RUNS, Recording
from heaplab.catalog import contents
from heaplab.options.chosen_arms import arm_of
from heaplab.results.records import Arm
from heaplab.text import markdown
from heaplab.traces.profile import of_process
from heaplab.tracing.run_trace import summary_and_process

SOURCE = Path(__file__).parents[1] / "tests/python/advise/holders.c"
PROGRAMS = "leak,cache,retained,pinned,regrowth,nothing"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--programs", default=PROGRAMS)
    parser.add_argument("--allocators", default="glibc,jemalloc,mimalloc,scalloc,tcmalloc")
    asked = parser.parse_args()
    names = asked.allocators.split(",")
    arms = [arm_of(contents.load(()), name) for name in names]
    with tempfile.TemporaryDirectory(prefix="heaplab-") as name:
        folder = Path(name)
        subprocess.run(["cc", "-O1", "-g", "-o", folder / "holders", SOURCE], check=True)
        rows = [[program, *cells(folder, program, arms)] for program in asked.programs.split(",")]
    print(markdown.table(["program", *names], rows))


def cells(folder: Path, program: str, arms: list[Arm]) -> Iterator[str]:
    trace = folder / f"{program}.trace"
    command = [sys.executable, "-m", "heaplab", "record", "--stacks", "-o", trace, "--", folder / "holders"]
    subprocess.run([*command, program], capture_output=True, check=True)
    summary, number = summary_and_process(trace, None)
    profile = of_process(trace, summary, number)
    for arm in arms:
        treatments = run_advise.treatments([arm, *(other for other in arms if other is not arm)])
        recording = Recording(trace, number, folder, slow_runs=RUNS)
        *_, evidence = run_advise.held(recording, Evidence(profile, []), treatments, ())
        yield answer(evidence, answers_of(evidence)[0])


def answer(evidence: Evidence, verdict: HolderAnswer) -> str:
    words = verdict.kind.value
    named: list[int] = []
    if verdict.growths:
        named = [growth.site for growth in verdict.growths]
    elif verdict.kind is Kind.PINNED:
        named = [holding.site for holding in evidence.census.holdings]
    site = f": `{evidence.profile.useful(named[0]).function}`" if named else ""
    return f"{words}{site}{'' if verdict.sure else ', likely'}"


if __name__ == "__main__":
    main()
