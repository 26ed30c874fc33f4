#!/usr/bin/env python3
"""Let classic workloads do on purpose what published ones did, and say how large the error of each is.

Each workload runs plainly and with each of its pitfalls, in turns, under two allocators. Times are CPU times
of what the workload itself times. Example, some minutes:
    research/pitfalls.py --blocks 9 --page docs/pitfalls.md
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ablations import arm, spoken
from command_line import parser_of
from heaplab.machine import host, native
from heaplab.machine.execute import environment_for
from heaplab.results.own_program import OwnProgram
from heaplab.stats import Interval, compare
from heaplab.text.markdown import table
from page_parts import machine

COLD = "cold-pages"
SHORTER = 20  # times less work, in a run of which cold pages are a large part
PITFALLS = {
    "timed-calls": "the clock is read before and after every call: two readings are added to each",
    "ordered-count": "all threads count their calls in one sequentially consistent counter, whose line moves "
    "at every call",
    "shared-line": "each thread has a counter of its own, beside those of others on one cache line",
    COLD: "a run of a twentieth of the work stands for the whole: the first touch of fresh pages is timed "
    "with few objects",
}
EVERY_CALL = ("timed-calls", "ordered-count", "shared-line")
HERE = ("glibc", "scalloc")


@dataclass(frozen=True)
class Workload:
    """A workload as suite `classic` has it, with two threads where it takes any."""

    name: str
    options: str
    work: str = ""  # the option that says how much work there is; empty: no cold pages
    warm: str = ""  # why cold pages are no part of it
    title: str = ""  # where the name is not enough

    @property
    def shown(self) -> str:
        return self.title or self.name

    @property
    def pitfalls(self) -> tuple[str, ...]:
        return (*EVERY_CALL, COLD) if self.work else EVERY_CALL


WORKLOADS = [
    Workload("malloc_test", "--threads 2 --call-pairs 2000000", warm="a thread holds one object at a time"),
    Workload("threadtest", "--threads 2 --rounds 20 --round-objects 100000 --size 64", "--rounds"),
    Workload("shbench", "--threads 2 --live-objects 500 --calls 200", "--calls"),
    Workload(
        "random_age",
        "--live-objects 100000 --replacements 300000",
        warm="the objects are there before the clock starts",
    ),
    Workload(
        "larson",
        "--threads 2 --min-size 10 --size-limit 500 --replacements-per-object 100 --duration 100ms",
        warm="the objects are there before the clock starts",
    ),
    Workload("producer_consumer", "--pairs 1 --objects 1000000", "--objects"),
    Workload("asymmetric", "--total-objects 400000", "--total-objects"),
    Workload("thread_churn", "--threads 2 --lives 400", "--lives"),
    Workload("churn", "--threads 2 --objects 1000000", warm="a thread holds 16 objects"),
    Workload(
        "acdc",
        "--threads 2 --min-size 16 --max-size 64 --min-liveness 1 --max-liveness 1 --time-quantum 300000 "
        "--ticks 60",
        "--ticks",
        title="acdc, thread-local",
    ),
    Workload(
        "acdc",
        "--threads 2 --min-size 16 --max-size 512 --min-liveness 1 --max-liveness 1 --time-quantum 300000 "
        "--shared-objects --ticks 60",
        "--ticks",
        title="acdc, shared",
    ),
    Workload("growing_buffers", "--threads 2 --steps 100000", "--steps"),
    Workload(
        "large_cycle",
        "--min-size 4MiB --max-size 16MiB --objects 20",
        warm="fresh pages of large objects are what it is there to time",
    ),
    Workload("blowup", "--pattern remote --live-bytes 8MiB --rounds 20", "--rounds"),
    *(
        Workload(name, f"--threads 2 {work}", warm="a thread holds one small object")
        for name, work in (
            ("active_false", "--repetitions 20000"),
            ("passive_false", "--repetitions 20000"),
            ("cache_thrash", "--cache-rw 10000"),
            ("cache_scratch", "--cache-rw 10000"),
        )
    ),
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
    parser = parser_of(__doc__)
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--only", default="", help="names of workloads, with commas between them")
    parser.add_argument("--page", type=Path, help="write the page")
    asked = parser.parse_args()
    measured = []
    for workload in [each for each in WORKLOADS if not asked.only or each.name in asked.only.split(",")]:
        for error in errors(workload, asked.blocks):
            measured.append(error)
            print(*row(error), sep=" | ", file=sys.stderr, flush=True)
    if asked.page:
        write(asked.page, measured, asked.blocks)


def errors(workload: Workload, blocks: int) -> list[Error]:
    ways = ("none", *workload.pitfalls)
    times: dict[tuple[str, str], list[float]] = {(way, name): [] for way in ways for name in HERE}
    for block in range(blocks + 1):
        for way in ways if block % 2 else ways[::-1]:
            for name in HERE:
                taken = cpu_time(command(workload, way), environment_for(arm(name)))
                if block:  # the first block is warmer or colder than the others
                    times[way, name].append(taken * (SHORTER if way == COLD else 1))
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
    """Seconds of CPU time of the work; of a workload that ends by the clock, for each thing it did."""
    done = subprocess.run(
        [*words, "--json", "-"], env=environment, capture_output=True, text=True, check=True
    )
    times = {
        name: float(metric["value"])
        for name, metric in json.loads(done.stdout.splitlines()[-1])["metrics"].items()
    }
    things = times["throughput"] * times["wall_time"] if "throughput" in times else 1.0
    return times["cpu_time"] / things


def command(workload: Workload, way: str) -> list[str]:
    words = [str(native.program(OwnProgram(workload.name))), *workload.options.split(), "--no-counters"]
    if way != COLD:
        return [*words, "--pitfall", way]
    place = words.index(workload.work) + 1
    return [*words[:place], str(int(words[place]) // SHORTER), *words[place + 1 :]]


# ---------------------------------------------------------------- the page


def write(page: Path, measured: Sequence[Error], blocks: int) -> None:
    first, second = HERE
    head = ["workload", *(f"time under {name}" for name in HERE), f"{second} / {first}, plainly"]
    head.append("with the pitfall")
    parts = [
        "# What a benchmark does to its own figures",
        "Four pitfalls of published benchmarks, done on purpose in each workload of suite "
        "`classic` and in three of llheap's. `--pitfall` of every workload that makes single calls has the "
        "first three; heaplab's workloads have none of them by themselves. A time is that with the pitfall "
        f"over that without, with a 95 % interval over {blocks} blocks; it is CPU time, of larson that of "
        "one replacement. The last column beside the one before has what matters: how far the answer "
        "to *which allocator is faster* moves.",
        table(["pitfall", "what it does"], [[f"`{name}`", text] for name, text in PITFALLS.items()]),
    ]
    for pitfall, said in SAID.items():
        rows = [row(effect) for effect in measured if effect.pitfall == pitfall]
        parts += [f"## `{pitfall}`", said, table(head, rows)]
    parts += [
        "## Where a pitfall cannot be",
        "\n".join(f"- No cold pages in {', '.join(names)}: {why}." for why, names in cannot().items()),
        ELSEWHERE,
        f"`research/pitfalls.py --blocks {blocks} --page docs/pitfalls.md` wrote this page on "
        f"{datetime.now(UTC):%Y-%m-%d}, beside other work. Options of each workload:",
        "\n".join(f"- {workload.shown}: `{workload.name} {workload.options}`" for workload in WORKLOADS),
        machine(host.facts()),
    ]
    page.write_text("\n\n".join(part.strip() for part in parts) + "\n")


SAID = {
    "timed-calls": "The clock around every call is by far the largest error: up to sixteen times the time, "
    "for the readings take longer than the calls. They are added under both allocators, so that most of the "
    "difference between these is gone: where a workload does little besides calling, the ratio ends between "
    "0.8 and 1. What large blocks or accesses take hides the readings.",
    "ordered-count": "One counter for all costs up to six tenths where calls follow each other closely, and "
    "is not shown where a thread does other work between them. Of shbench and larson it moves the ratio "
    "towards 1: what it adds is a larger part of the shorter time. Two processors queue for a line as little "
    "as can be.",
    "shared-line": "The line moves as it does with one counter, and costs about as much, though no thread "
    "adds to the counter of another: two processors show no difference between the two.",
    COLD: "The first touch of pages is the kernel's work. The ratio can move either way, by which allocator "
    "touches more pages for its first objects: of blowup it falls, of acdc, growing_buffers and "
    "asymmetric it rises, of the last from a gain to none.",
}
ELSEWHERE = """\
`acdc` with the options of experiment `classic/locality` answers by the time of accesses alone, in which
there are no calls: no pitfall of calls touches it. Real programs make their calls themselves, so that none
can be planted in them.

passive_false takes 1.4 times as long with any pitfall, and makes too few calls for that: with one thread the
instructions are the same to two parts in a thousand. The loop that writes to the object is compiled a second
time for the calls with a pitfall; where it lies is the likely cause, and a pitfall of its own: a comparison
holds only between runs of the same code.

The host's own cold pages are another matter: memory that a virtual machine has not touched yet costs more at
its first touch. Campaigns touch it before every run; `--warm 0` shows it cold."""


def cannot() -> dict[str, list[str]]:
    """By the reason why cold pages are no part of them, the workloads."""
    missing: dict[str, list[str]] = {}
    for workload in WORKLOADS:
        if workload.warm:
            missing.setdefault(workload.warm, []).append(workload.shown)
    return missing


def row(error: Error) -> list[str]:
    times = [spoken(each) for each in error.slower]
    return [error.workload.shown, *times, spoken(error.plain), spoken(error.hampered)]


if __name__ == "__main__":
    main()
