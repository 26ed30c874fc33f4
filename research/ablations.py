#!/usr/bin/env python3
"""Take one mechanism after another away, and say what it is worth today, with the counts that explain it.

Each pair of arms runs the same small workload in turns. Times are CPU times of the whole process; page faults
and peak memory are the kernel's; instructions are callgrind's, of a shorter run. Transfers of cache lines
between cores come from docs/scalloc-coherence.md. Example, some minutes:
    research/ablations.py --pairs 9 --page docs/ablations.md
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from matplotlib.ticker import NullLocator

from heaplab.catalog import contents, locate, native
from heaplab.machine import host
from heaplab.machine.callgrind import InstructionCounter
from heaplab.machine.execute import environment_for, execute
from heaplab.machine.watch import Limits
from heaplab.records import Arm
from heaplab.report.pictures import canvas, marks
from heaplab.report.pictures.palette import CHROME, HUES
from heaplab.report.words import units
from heaplab.report.words.markdown import table
from heaplab.stats import Interval, compare
from page_parts import machine

ROOT = Path(__file__).parents[1]
COHERENCE = ROOT / "docs/scalloc-coherence.md"
TIME_LIMIT_S = 300.0
MEASURES = {
    "time": "CPU time",
    "instructions": "instructions",
    "faults": "page faults",
    "memory": "peak memory",
}


@dataclass(frozen=True)
class Ablation:
    """One mechanism: the arms with it and without it, and the workload that shows it."""

    name: str  # of the picture's file
    mechanism: str
    saves: str  # what it is for
    workload: str
    options: str  # of the run that is timed; the shorter one, for callgrind, ends in `short`
    short: str
    with_it: str = "scalloc-paper"  # an allocator, or options that choose a strategy
    without: str = ""
    simulated: str = ""  # a column of the simulator's table
    why: str = ""  # what the counts say of it


SPANS = "--threads 2 --min-liveness 1 --max-liveness 1"
SETS = "--structure DS7 --elements 512"
GROWTH = {
    "workload": "growth",
    "options": f"{SETS} --operations 2097152",
    "short": f"{SETS} --operations 65536",
}
ABLATIONS = [
    Ablation(
        "madvise",
        "empty spans give their memory back",
        "memory, at the price of system calls and faults",
        "acdc",
        f"{SPANS} --min-size 4096 --max-size 16384 --time-quantum 4194304 --ticks 20",
        "--ticks 5",
        without="scalloc-no-madvise",
        why="The time goes to the kernel: without madvise an eighth of the page faults are left, and "
        "twice the memory stays. So scalloc today keeps a bounded amount of it ([decision "
        "11](decisions/0011-bound-of-retained-spans.md)).",
    ),
    Ablation(
        "span-pool",
        "the span-pool has a stack for each processor",
        "threads waiting for each other's line",
        "threadtest",
        "--threads 2 --rounds 30 --round-objects 100000 --size 256",
        "--rounds 2",
        without="scalloc-single-stack",
        simulated="span-pool",
        why="Two processors are too few to be in each other's way: instructions, faults and memory are "
        "equal. The simulator has the price that more would pay: 0.59 lines moved for an operation "
        "with 256 threads, and none with a stack for each.",
    ),
    Ablation(
        "eager-return",
        "empty spans return in free, not in malloc",
        "memory that others could use",
        "threadtest",
        "--threads 2 --rounds 100 --round-objects 100000 --size 64",
        "--rounds 4",
        without="scalloc-reclaim-in-malloc",
        simulated="thread-churn",
        why="Nothing is gained or lost with two threads: the same instructions, faults and memory. The "
        "paper has a quarter more memory without it at 39 threads, more than this machine can "
        "show.",
    ),
    Ablation(
        "reuse",
        "spans are used again before they are empty",
        "memory in workloads without phases",
        "shbench",
        "--threads 2 --calls 5000 --min-size 1 --size-limit 8",
        "--calls 100",
        without="scalloc-no-reuse",
        simulated="larson",
        why="Without it spans with few blocks in use stay out of reach, so that new ones are carved: "
        "more faults and memory, by less than the paper's 14.7 % at 20 threads, and no more time.",
    ),
    Ablation(
        "thread-local",
        "local buffers are those of threads, not of processors",
        "a lock for each operation",
        "threadtest",
        "--threads 2 --rounds 100 --round-objects 100000 --size 64",
        "--rounds 4",
        without="scalloc-clab",
        simulated="threadtest",
        why="Two atomic operations for each operation, a lock and its release, and twice the "
        "instructions; no line moves where no two threads share a core, so that the lock itself is "
        "the price.",
    ),
    Ablation(
        "virtual-spans",
        "spans are large in addresses and small in pages",
        "memory, where a size needs few blocks",
        "acdc",
        f"{SPANS} --min-size 16 --max-size 64 --time-quantum 16384 --ticks 2000",
        "--ticks 50",
        without="scalloc-huge-pages",
        why="The kernel fills a whole huge page for each span that a size has begun, so that a few "
        "blocks cost 2 MiB: the same instructions and fewer faults, but each fault zeroes 512 "
        "times the bytes.",
    ),
    Ablation(
        "llheap-ownership",
        "llheap sends blocks home to the thread that allocated them",
        "memory, where blocks change hands, and false sharing",
        "exchange",
        "--threads 2 --live-objects 100 --shared-places 20000 --swapped 100 --max-size 256 "
        "--replacements 1000000",
        "--replacements 10000",
        with_it="llheap",
        without="llheap-no-ownership",
        why="Blocks that change hands pile up where they are freed, and their first owner carves new "
        "ones, the more the longer the program runs: more faults and memory. The way home costs a "
        "twentieth of the instructions.",
    ),
    Ablation(
        "llheap-statistics",
        "llheap counts nothing",
        "time",
        "churn",
        "--objects 3000000",
        "--objects 30000",
        with_it="llheap",
        without="llheap-stats",
        why="Counting is half of the instructions again, on the fast path of every call.",
    ),
    Ablation(
        "llheap-debug",
        "llheap checks no pointers",
        "time",
        "churn",
        "--objects 3000000",
        "--objects 30000",
        with_it="llheap",
        without="llheap-debug",
        why="Each block is filled and checked at its ends, and each pointer looked up: three times the "
        "instructions, which also touch more of each block.",
    ),
    Ablation(
        "static-call",
        "the allocator is a type (AS1), not an abstract base (AS2)",
        "virtual calls",
        with_it="--strategy AS1",
        without="--strategy AS2",
        **GROWTH,
        why="A call through the abstract base is some instructions more in a hundred, and as much time.",
    ),
    Ablation(
        "monotonic",
        "a monotonic allocator (AS3), not the global one (AS1)",
        "searching, headers and frees",
        with_it="--strategy AS3",
        without="--strategy AS1",
        **GROWTH,
        why="Half of the instructions are gone, those that search and free; as many faults or more, "
        "for nothing is used twice.",
    ),
    Ablation(
        "winking",
        "memory is winked out (AS4), not destroyed element by element (AS3)",
        "the destructors",
        with_it="--strategy AS4",
        without="--strategy AS3",
        **GROWTH,
        why="Here sets of numbers have little to destroy once deallocation does nothing: next to no "
        "instructions are saved.",
    ),
    Ablation(
        "multipool",
        "a multipool (AS7), not the global allocator (AS1)",
        "searching",
        with_it="--strategy AS7",
        without="--strategy AS1",
        **GROWTH,
        why="Fewer instructions than the global allocator, but chunks go back to it at each "
        "structure's end, and it gives them back to the kernel: many times the faults, which eat "
        "part of what was won.",
    ),
    Ablation(
        "multipool-on-monotonic",
        "a multipool over a monotonic allocator (AS11), not over the global one (AS7)",
        "the global allocator's work for chunks",
        with_it="--strategy AS11",
        without="--strategy AS7",
        **GROWTH,
        why="The same instructions. The chunks lie in a buffer that stays, so that the kernel is not "
        "asked again: a tenth of the faults, and half of the time.",
    ),
]


@dataclass(frozen=True)
class Measured:
    ratios: dict[str, Interval]  # without the mechanism over with it
    values: dict[str, tuple[float, float]]  # with it, without it: medians
    transfers: tuple[str, str] | None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--only", default="", help="names of ablations, with commas between them")
    parser.add_argument("--page", type=Path, help="write the page, with its pictures in a folder of its name")
    asked = parser.parse_args()
    names = asked.only.split(",") if asked.only else [one.name for one in ABLATIONS]
    chosen = [one for one in ABLATIONS if one.name in names]
    if not chosen:
        parser.error(f"no ablation {asked.only!r}; there are {', '.join(one.name for one in ABLATIONS)}")
    found = {}
    for one in chosen:
        found[one] = measured(one, asked.pairs)
        print(one.name, *row(one, found[one])[1:], sep=" | ", file=sys.stderr, flush=True)
    if asked.page:
        write(asked.page, found, asked.pairs)


def measured(one: Ablation, pairs: int) -> Measured:
    commands = [command(one, which) for which in (one.with_it, one.without)]
    both: list[list[dict[str, float]]] = [[], []]
    for number in range(pairs + 1):
        for arm in (0, 1) if number % 2 else (1, 0):
            both[arm].append(run(*commands[arm]))
    both = [runs[1:] for runs in both]  # the first pair is warmer or colder than the others
    for arm in (0, 1):
        counts = [instructions(one, commands[arm]) for _ in range(2)]
        for position, each in enumerate(both[arm]):
            each["instructions"] = counts[position % 2]
    ratios, values = {}, {}
    for measure in MEASURES:
        with_it, without = ([each[measure] for each in runs] for runs in both)
        ratios[measure] = compare(with_it, without)
        values[measure] = (sorted(with_it)[pairs // 2], sorted(without)[pairs // 2])
    return Measured(ratios, values, transfers(one))


def command(one: Ablation, which: str) -> tuple[list[str], Mapping[str, str]]:
    program = str(native.program(one.workload))
    words = [program, *one.options.split(), "--no-counters"]
    if which.startswith("--"):
        return [*words, *which.split()], os.environ
    return words, environment_for(arm(which))


def arm(name: str) -> Arm:
    return locate.locate(contents.load((ROOT / "catalog",)), name)


def run(words: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    done = execute(words, dict(environment), Limits(time=TIME_LIMIT_S))
    if done.killed_for or done.exit_status:
        raise SystemExit(f"{' '.join(words)}: ended with {done.killed_for or done.exit_status}")
    process = done.process
    return {
        "time": process.user_time + process.system_time,
        "faults": float(process.minor_faults),
        "memory": float(process.peak_memory or 0),
    }


def instructions(one: Ablation, found: tuple[list[str], Mapping[str, str]]) -> float:
    counter = InstructionCounter()
    words, environment = found
    try:
        run([*counter.prefix, *shortened(words, one.short)], environment)
        return float(counter.taken().instructions)
    finally:
        counter.close()


def shortened(words: Sequence[str], short: str) -> list[str]:
    """The command with the options of `short` in the place of its own."""
    own = list(words)
    options = short.split()
    for name, value in zip(options[::2], options[1::2], strict=True):
        own[own.index(name) + 1] = value
    return own


def transfers(one: Ablation) -> tuple[str, str] | None:
    """Lines moved for an operation with 256 threads, and atomic operations in parentheses."""
    if not one.simulated:
        return None
    lines = COHERENCE.read_text().split("## The variants")[1].split("\n## ")[0].splitlines()
    head, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")
    ]
    values = {each[0]: each[head.index(one.simulated)] for each in rows}
    return values[one.with_it], values[one.without]


# ---------------------------------------------------------------- the page


def write(page: Path, found: Mapping[Ablation, Measured], pairs: int) -> None:
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    head = ["mechanism", *MEASURES.values(), "transfers (atomic operations) with it; without"]
    parts = [
        "# What each mechanism is worth",
        "scalloc's six ablations, llheap's settings and the strategies of local allocators: each row takes "
        "one mechanism away and leaves all else. A number is what the workload takes without it over what it "
        f"takes with it, with a 95 % interval over {pairs} pairs of runs: above 1, the mechanism saves. "
        "Times are CPU times and were measured beside other work; instructions, page faults, memory and the "
        "simulator's transfers ([what is counted](scalloc-coherence.md#what-is-counted)) do not mind, and "
        "tell why.",
        f"`research/ablations.py --pairs {pairs} --page docs/ablations.md` wrote this page on "
        f"{datetime.now(UTC):%Y-%m-%d}.",
        table(head, [row(one, each) for one, each in found.items()]),
    ]
    for one, each in found.items():
        path = folder / f"{one.name}.svg"
        path.write_text(canvas.standalone(picture(one, each)), encoding="utf-8")
        shown = f"`{one.workload} {one.options}`"
        parts += [
            f"## {one.mechanism[0].upper()}{one.mechanism[1:]}",
            f"Meant to save: {one.saves}. With: `{one.with_it}`; without: `{one.without}`. Workload: "
            f"{shown}.",
            f"![{alt(one)}]({folder.name}/{path.name})",
            one.why,
            in_numbers(each),
        ]
    parts.append(machine(host.facts()).strip())
    page.write_text("\n\n".join(part.strip() for part in parts if part) + "\n")


def row(one: Ablation, found: Measured) -> list[str]:
    said = [spoken(found.ratios[measure]) for measure in MEASURES]
    return [one.mechanism, *said, "; ".join(found.transfers) if found.transfers else "–"]


def spoken(ratio: Interval) -> str:
    if ratio.bounded and ratio.high - ratio.low < 0.0005:
        return f"{ratio.estimate:.3f}"
    return (
        f"{ratio.estimate:.2f} ({ratio.low:.2f}–{ratio.high:.2f})"
        if ratio.bounded
        else f"{ratio.estimate:.2f}"
    )


def in_numbers(found: Measured) -> str:
    unit = {"time": "s", "instructions": "1", "faults": "1", "memory": "B"}
    said = [
        f"{title} {units.show(first, unit[measure])} with it, {units.show(last, unit[measure])} without"
        for measure, title in MEASURES.items()
        for first, last in [found.values[measure]]
    ]
    return f"{'; '.join(said)}. Instructions are those of a shorter run."


def alt(one: Ablation) -> str:
    return f"What the workload takes without the mechanism, relative to with it: {one.mechanism}."


def picture(one: Ablation, found: Measured) -> str:
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1, (canvas.SINGLE[0], 1.9))
        for place, measure in enumerate(MEASURES):
            ratio = found.ratios[measure]
            axis.barh(
                place, ratio.estimate - 1, left=1, height=0.6, color=HUES[0 if ratio.estimate >= 1 else 1][0]
            )
            if ratio.bounded:
                axis.errorbar(
                    ratio.estimate, place, xerr=marks.whisker(ratio, 1), fmt="none", **marks.WHISKER
                )
        axis.set_xscale("log", base=2)
        reach = max(2.0, *(max(each.estimate, 1 / each.estimate) * 1.3 for each in found.ratios.values()))
        axis.set_xlim(1 / reach, reach)
        steps = [
            2.0**power for power in range(-8, 9, 2 if reach > 8 else 1) if 1 / reach <= 2.0**power <= reach
        ]
        axis.set_xticks(steps, [f"{step:g}×" if step >= 1 else f"1/{1 / step:g}" for step in steps])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.axvline(1, color=CHROME["muted"], linewidth=0.9)
        axis.set_yticks(range(len(MEASURES)), list(MEASURES.values()))
        axis.invert_yaxis()
        axis.grid(visible=False, axis="y")
        axis.set_xlabel("without it, relative to with it")
        return canvas.to_svg(figure, alt(one))


if __name__ == "__main__":
    main()
