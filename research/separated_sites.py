#!/usr/bin/env python3
"""Compare what `heaplab advise` promises of a call site apart with what separating it in code gives.

Each case of research/separable.cpp is recorded once. The promise is what replays with the call site apart
were measured to hold less, under each allocator; the truth is what the program itself holds less at its end
under that allocator with its switch on. Both are medians, least and most of three runs, of which the second
and third allocate as many bytes first as advise lets the heap begin later.

Example, a minute:
    research/separated_sites.py --cases uniform,threads --allocators glibc,scalloc
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from command_line import parser_of
from heaplab.advise import run_advise
from heaplab.advise.answer import Evidence
from heaplab.advise.replaying import RUNS, SHIFT, Recording
from heaplab.advise.sentences import interval, size
from heaplab.catalog import contents
from heaplab.machine.execute import environment_for
from heaplab.options.chosen_arms import arm_of
from heaplab.results.records import Arm
from heaplab.text import units
from heaplab.traces.profile import of_process
from heaplab.tracing import run_record
from heaplab.tracing.run_trace import summary_and_process

FLAGS = ["-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread"]
CASES = "uniform,mixed,large,rare,bursts,threads"
SITE = "long_lived"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--allocators", default="glibc,jemalloc,mimalloc,scalloc,tcmalloc")
    asked = parser.parse_args()
    arms = [arm_of(contents.load(()), name) for name in asked.allocators.split(",")]
    print(
        "| case | allocator | pinned no more: estimated | measured | memory less: promised | in code | off |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="heaplab-") as name:
        folder = Path(name)
        source = Path(__file__).with_name("separable.cpp")
        subprocess.run(["c++", *FLAGS, "-o", folder / "separable", source], check=True)
        for case in asked.cases.split(","):
            for row in rows(folder, case, arms):
                print(f"| {' | '.join(row)} |", flush=True)


def rows(folder: Path, case: str, arms: list[Arm]) -> Iterator[list[str]]:
    trace, program = folder / f"{case}.trace", (str(folder / "separable"), case)
    run_record.with_stacks_in(trace, (*program, "0"), (), lambda: None)
    summary, number = summary_and_process(trace, None)
    profile = of_process(trace, summary, number)
    treatments = [treatment for treatment in run_advise.treatments(arms) if not treatment.trim]
    *_, evidence = run_advise.held(
        Recording(trace, number, folder), Evidence(profile, []), treatments, [SITE]
    )
    what_if, place = evidence.what_if, len(evidence.base.runs[0]) - 1
    assert what_if
    for at, (arm, together) in enumerate(zip(arms, evidence.replays, strict=True)):
        promised = what_if.less(at, together, place)
        low, middle, high = of_program(program, arm)
        least, medium, most = of_program((*program, "apart"), arm)
        measured = low - most, middle - medium, high - least
        off = f"{100 * (promised[1] / measured[1] - 1):+.1f} %" if measured[1] >= 1 << 20 else units.NOTHING
        pinned = what_if.estimated[together.name], what_if.unpinned(at, together, place)
        yield [case, arm.allocator, *map(size, pinned), interval(promised), interval(measured), off]


def of_program(program: tuple[str, ...], arm: Arm) -> tuple[int, int, int]:
    """What the program itself holds at its end, in bytes: the least, the median, the most."""
    runs = [
        subprocess.run(
            [*program, str(run * SHIFT)], env=environment_for(arm), capture_output=True, text=True, check=True
        ).stdout
        for run in range(RUNS)
    ]
    low, middle, high = sorted(int(text) << 10 for text in runs)
    return low, middle, high


if __name__ == "__main__":
    main()
