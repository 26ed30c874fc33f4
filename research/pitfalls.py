#!/usr/bin/env python3
"""Let classic workloads do on purpose what published ones did, and say how large the error of each is.

Each workload runs plainly and with each of its pitfalls, in turns, under two allocators. Times are CPU times
of what the workload itself times. Example, some minutes:
    research/pitfalls.py --blocks 9 --page docs/pitfalls.md
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from matplotlib.ticker import NullLocator

from ablations import arm, spoken
from heaplab.catalog import native
from heaplab.machine import host
from heaplab.machine.execute import environment_for
from heaplab.report.pictures import canvas, marks
from heaplab.report.pictures.palette import BASELINE, CHROME, HUES
from heaplab.report.words.markdown import table
from heaplab.stats import Interval, compare
from page_parts import machine

COLD = "cold-pages"
PITFALLS = {
    "timed-calls": "the clock is read before and after every call: two readings are added to each",
    "ordered-count": "all threads count their calls in one sequentially consistent counter, whose line moves "
    "at every call",
    "shared-line": "each thread has a counter of its own, beside those of others on one cache line",
    COLD: "one round in the place of twenty: the first touch of fresh pages is timed with every object",
}
HERE = ("glibc", "scalloc")


@dataclass(frozen=True)
class Workload:
    name: str
    options: str
    pitfalls: tuple[str, ...]
    cold: str = ""  # options with which the same number of objects meets fresh pages only
    cold_share: float = 1.0  # of the objects of a plain run


EVERY_CALL = ("timed-calls", "ordered-count", "shared-line")
WORKLOADS = [
    Workload("malloc_test", "--threads 2 --call-pairs 4000000", EVERY_CALL),
    Workload(
        "threadtest",
        "--threads 2 --rounds 20 --round-objects 400000 --size 64",
        (*EVERY_CALL, COLD),
        cold="--threads 2 --rounds 1 --round-objects 400000 --size 64",
        cold_share=1 / 20,
    ),
    Workload("producer_consumer", "--pairs 1 --objects 2000000", EVERY_CALL),
]


@dataclass(frozen=True)
class Error:
    """What a pitfall does to one workload: to the time under each allocator, and to their ratio."""

    workload: Workload
    pitfall: str
    slower: list[Interval]  # with the pitfall over without, in the order of HERE
    plain: Interval  # the second allocator over the first, without the pitfall
    hampered: Interval


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--page", type=Path, help="write the page, with its picture beside it")
    asked = parser.parse_args()
    found = []
    for workload in WORKLOADS:
        for one in errors(workload, asked.blocks):
            found.append(one)
            print(*row(one), sep=" | ", file=sys.stderr, flush=True)
    if asked.page:
        write(asked.page, found, asked.blocks)


def errors(workload: Workload, blocks: int) -> list[Error]:
    ways = ("none", *workload.pitfalls)
    times: dict[tuple[str, str], list[float]] = {(way, name): [] for way in ways for name in HERE}
    for block in range(blocks + 1):
        for way in ways if block % 2 else ways[::-1]:
            for name in HERE:
                taken = cpu_time(command(workload, way), environment_for(arm(name)))
                if block:  # the first block is warmer or colder than the others
                    times[way, name].append(taken / (workload.cold_share if way == COLD else 1.0))
    first, second = HERE
    return [
        Error(
            workload,
            way,
            [compare(times["none", name], times[way, name]) for name in HERE],
            compare(times["none", first], times["none", second]),
            compare(times[way, first], times[way, second]),
        )
        for way in workload.pitfalls
    ]


def cpu_time(words: Sequence[str], environment: dict[str, str]) -> float:
    done = subprocess.run(
        [*words, "--json", "-"], env=environment, capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1])["metrics"]["cpu_time"]["value"])


def command(workload: Workload, way: str) -> list[str]:
    program, plain = str(native.program(workload.name)), "--no-counters"
    if way == COLD:
        return [program, *workload.cold.split(), plain]
    return [program, *workload.options.split(), plain, "--pitfall", way]


# ---------------------------------------------------------------- the page


def write(page: Path, found: Sequence[Error], blocks: int) -> None:
    picture_file = page.with_suffix(".svg")
    picture_file.write_text(canvas.standalone(picture(found)), encoding="utf-8")
    first, second = HERE
    head = ["workload", "pitfall", *(f"time under {name}" for name in HERE)]
    head += [f"{second} / {first}, plainly", "with the pitfall"]
    parts = [
        "# What a benchmark does to its own figures",
        "Four pitfalls of published benchmarks, done on purpose. `--pitfall` of every workload that makes "
        "single calls has the first three; heaplab's workloads have none of them by themselves. A time "
        f"is that with the pitfall over that without, with a 95 % interval over {blocks} blocks. The last "
        "column beside the one before has what matters: how far the answer to *which allocator is faster* "
        "moves.",
        table(["pitfall", "what it does"], [[f"`{name}`", text] for name, text in PITFALLS.items()]),
        table(head, [row(one) for one in found]),
        f"![{ALT}]({picture_file.name})",
        "The clock around every call is by far the largest error: the readings take longer than the calls, "
        "and as they are added under both allocators, most of the difference between these is gone. One "
        "counter for all, or counters side by side, cost up to a quarter here, which also moves the ratio "
        "towards 1; two processors queue for a line as little as can be. Cold pages add the kernel's work, "
        "more of it under the allocator that touches more pages (here glibc: 7,812 faults, scalloc 5,915), "
        "so that the ratio moves away from 1.",
        "The host's own cold pages are another matter: memory that a virtual machine has not touched yet "
        "costs more at its first touch. Campaigns touch it before every run; `--warm 0` shows it cold.",
        f"`research/pitfalls.py --blocks {blocks} --page docs/pitfalls.md` wrote this page on "
        f"{datetime.now(UTC):%Y-%m-%d}, beside other work.",
        machine(host.facts()),
    ]
    page.write_text("\n\n".join(part.strip() for part in parts) + "\n")


def row(one: Error) -> list[str]:
    times = [spoken(each) for each in one.slower]
    return [one.workload.name, f"`{one.pitfall}`", *times, spoken(one.plain), spoken(one.hampered)]


ALT = f"The ratio {HERE[1]} / {HERE[0]} without and with each pitfall. Numbers in the table above."


def picture(found: Sequence[Error]) -> str:
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1, (canvas.SINGLE[0] * 1.4, 0.9 + 0.34 * len(found)))
        for place, one in enumerate(found):
            for shift, ratio, color, label in (
                (-0.12, one.plain, BASELINE[0], "plainly"),
                (0.12, one.hampered, HUES[1][0], "with the pitfall"),
            ):
                whisker = marks.whisker(ratio, 1) if ratio.bounded else None
                axis.errorbar(ratio.estimate, place + shift, xerr=whisker, fmt="o", color=color, label=label)
        axis.set_xscale("log", base=2)
        axis.set_yticks(range(len(found)), [f"{one.workload.name}, {one.pitfall}" for one in found])
        axis.invert_yaxis()
        marks.label_ratios(axis.xaxis)
        axis.xaxis.set_minor_locator(NullLocator())
        axis.axvline(1, color=CHROME["muted"], linewidth=0.9)
        axis.set_xlabel(f"{HERE[1]} / {HERE[0]}, CPU time")
        canvas.legend(figure, axis)
        return canvas.to_svg(figure, ALT)


if __name__ == "__main__":
    main()
