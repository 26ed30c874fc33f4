"""What local allocators save in Benchmarks I to V, on this machine, and what that tells of a subsystem.

Each benchmark is run in several forms like the subsystem, or says why it is not like the subsystem. V is
the others in an aged heap. All forms but those of II tell what the time of calls becomes, II what the time
of accesses becomes.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from statistics import median
from typing import NamedTuple

from heaplab.results.records import Arm
from heaplab.subsystems.benchmarks import run
from heaplab.subsystems.subsystem import Subsystem
from heaplab.subsystems.vetoes import BLOW_UP, FEWEST_BYTES, LocalKind
from heaplab.text import units

GLOBAL = "AS1"
COLUMNS = {LocalKind.MONOTONIC: "AS5", LocalKind.MULTIPOOL: "AS9", LocalKind.BOTH: "AS13"}  # by abstract base
WINKING = {**COLUMNS, LocalKind.MONOTONIC: "AS6", LocalKind.BOTH: "AS14"}  # which Benchmark I alone has
AGED = "1:30%"
ROUNDS = 3
FLAT, NESTED = ("DS2", "DS3", "DS4"), ("DS6", "DS7", "DS8")  # numbers and strings, in vectors and sets
INNER = 128  # elements of an inner structure
SMALLEST = 8  # B
LEAVES = 1 << 18  # of Benchmark I
BLOCKS = 1 << 21  # of Benchmark III: what the first call in an aged heap takes is little beside them
PAIRS = 1 << 18  # of Benchmark IV
MOST_BYTES = 64 << 20  # that live at a time
MOST_TOTAL = 1 << 30  # B, of Benchmark III: a monotonic allocator keeps them
PAGE = 4096  # B
NODE = 32  # B, of an element of Benchmark II and its block
LISTS = 256  # of Benchmark II
Span = tuple[float, float]


class Forms(NamedTuple):
    """A benchmark in forms like a subsystem, or why no form is."""

    number: str
    program: str
    options: Sequence[Sequence[str]] = ()
    why_not: str = ""


@dataclass(frozen=True)
class Told:
    """What a benchmark tells of a subsystem."""

    number: str
    savings: tuple[float, ...] = ()  # the share of its CPU time, in each form
    why_not: str = ""


@dataclass(frozen=True)
class Calibration:
    told: tuple[Told, ...]  # of I to V
    calls: Span  # the share of the time of calls that is saved, with the error of its prediction
    accesses: float = 0.0  # the share of the time of accesses that is saved at most
    faults: Span = (0.0, 0.0)  # page faults in a fresh heap: of the global allocator, of the local one


def churns(of: Subsystem) -> bool:
    """Whether a monotonic allocator would hold far more than lives: like Benchmark III, else like I."""
    return of.blow_up > BLOW_UP and of.typical_bytes > FEWEST_BYTES


def growth(of: Subsystem) -> Forms:
    if churns(of):
        times = f"{units.show(of.blow_up, '1')} times what lives at a time"
        return Forms("I", "growth", why_not=f"all blocks of an episode are {times}; in I all live together")
    blocks = max(of.acquired.blocks / max(of.episodes, 1), 1.0)
    forms = []
    for structures, inner in ((FLAT, 1), (NESTED, INNER)):
        elements = 1 << min(max(round(log2(blocks / inner)), 6), 16 if inner == 1 else 9)
        leaves = max(LEAVES, elements * inner)
        amounts = ["--elements", str(elements), "--operations", str(leaves), "--buffer", "0"]
        forms += [["--structure", structure, *amounts] for structure in structures]
    return Forms("I", "growth", forms)


def locality(of: Subsystem) -> Forms:
    if of.turns * PAGE < of.acquired.bytes:
        turns = units.counted(of.turns, "time")
        why_not = f"other call sites come between its blocks {turns}, less than once a page of them"
        return Forms("II", "locality", why_not=why_not)
    elements = 1 << min(max(round(log2(max(of.most_bytes, 1) / NODE)), 12), 18)
    lists = ["--elements-total", str(elements), "--subsystems", str(LISTS)]
    return Forms("II", "locality", [[*lists, "--access-factor", passes] for passes in ("1", "8")])


def utilization(of: Subsystem) -> Forms:
    if not churns(of):
        why_not = "most blocks of an episode live at a time, or all take little; in III few of very many do"
        return Forms("III", "utilization", why_not=why_not)
    mean = max(round(of.mean_size), SMALLEST)
    active = max(min(of.most_bytes, MOST_BYTES), 2 * mean)
    total = max(min(BLOCKS * mean, MOST_TOTAL), 4 * active)
    amounts = ["--total", f"{total}B", "--active", f"{active}B", "--buffer", "0"]
    sizes = (["--size", f"{mean}B"], ["--size", f"{2 * mean - SMALLEST}B", "--least-size", f"{SMALLEST}B"])
    orders: tuple[list[str], ...] = ([], ["--random-order"])
    return Forms("III", "utilization", [[*amounts, *size, *order] for size in sizes for order in orders])


def contention(of: Subsystem) -> Forms:
    if of.threads < 2:
        return Forms("IV", "contention", why_not="a single thread calls; in IV several do")
    threads = min(of.threads, os.cpu_count() or 1)
    pairs = 1 << min(max(round(log2(max(of.acquired.blocks / max(of.episodes, 1), 1.0))), 12), 16)
    amounts = ["--threads", str(threads), "--allocations", str(pairs), "--restarts", str(PAIRS // pairs)]
    mean = max(round(of.mean_size), SMALLEST)
    sizes = (f"{mean}B", f"{2 * mean}B")
    return Forms("IV", "contention", [[*amounts, "--no-initial-buffer", "--size", size] for size in sizes])


BENCHMARKS = (growth, locality, utilization, contention)


def calibrated(
    of: Subsystem, strategy: LocalKind, arm: Arm, told: Callable[[str], None] = lambda _step: None
) -> Calibration:
    """Run the benchmarks under the global allocator `arm`, and local ones above it by turns."""
    benchmarks = [benchmark(of) for benchmark in BENCHMARKS]
    fresh: dict[str, tuple[float, ...]] = {}
    aged: dict[str, tuple[float, ...]] = {}
    faults: list[Span] = []
    for forms in benchmarks:
        winks = forms.program == "growth" and of.episodes > 0
        columns = [GLOBAL, (WINKING if winks else COLUMNS)[strategy]]
        if forms.options:
            told(f"calibrating by Benchmark {forms.number}")
        heaps = [
            [turns(forms.program, [*form, *age], columns, arm) for form in forms.options]
            for age in ((), ("--aged", AGED))
        ]
        fresh[forms.number], aged[forms.number] = (tuple(map(saved, heap)) for heap in heaps)
        if forms.number != "II":  # which tells of accesses
            faults += [(faults_of(before), faults_of(after)) for before, after in heaps[0]]
    in_access = [*fresh.pop("II"), *aged.pop("II")]
    spans = [span for number in fresh for span in zip(fresh[number], aged[number], strict=True)]
    tells = {**fresh, "II": tuple(in_access)}
    rows = [Told(forms.number, tells[forms.number], forms.why_not) for forms in benchmarks]
    rows.append(Told("V", tuple(share for shares in aged.values() for share in shares)))
    return Calibration(tuple(rows), predicted(spans), max(in_access, default=0.0), faults[0])


def predicted(spans: Sequence[Sequence[float]]) -> Span:
    """Where another one is to be expected: the range of all, wider by the most that is left out of it.

    That is the most by which one of them lies outside the range of the others.
    """
    least, most = [min(span) for span in spans], [max(span) for span in spans]
    missed = 0.0
    if len(spans) > 1:
        missed = max(sorted(least)[1] - min(least), max(most) - sorted(most)[-2])
    return min(least) - missed, max(most) + missed


def saved(runs: Sequence[Sequence[dict[str, float]]]) -> float:
    """The median share of the time that the second column saves, of pairs of runs."""
    before, after = runs
    return median(1 - new["cpu_time"] / old["cpu_time"] for old, new in zip(before, after, strict=True))


def faults_of(runs: Sequence[dict[str, float]]) -> float:
    return median(run["minor_faults"] for run in runs)


def turns(
    name: str, options: Sequence[str], columns: Sequence[str], arm: Arm
) -> list[list[dict[str, float]]]:
    """The metrics of ROUNDS runs of each column, by turns."""
    rounds = [[run(name, [*options, "--strategy", column], arm) for column in columns] for _ in range(ROUNDS)]
    return [list(column) for column in zip(*rounds, strict=True)]
