"""What local allocators save in the benchmark of P0089 that is nearest to a subsystem, on this machine.

Where most blocks of an episode live at the same time that is Benchmark I, with sets of numbers and of
strings, else Benchmark III; in a fresh heap, and in an aged one as in Benchmark V.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from statistics import median

from heaplab.advise.replaying import LONGEST_S
from heaplab.catalog import native
from heaplab.errors import HeaplabError
from heaplab.machine.execute import environment_for, execute, failure
from heaplab.machine.watch import Limits
from heaplab.results.own_program import OwnProgram
from heaplab.results.records import Arm
from heaplab.subsystems.subsystem import Subsystem
from heaplab.subsystems.vetoes import LocalKind

GLOBAL = "AS1"
COLUMNS = {LocalKind.MONOTONIC: "AS5", LocalKind.MULTIPOOL: "AS9", LocalKind.BOTH: "AS13"}  # by abstract base
AGED = "1:30%"
ROUNDS = 3
LIVING_TOGETHER = 0.5  # utilization from which Benchmark I is the nearest
SETS = ("DS3", "DS4")  # of numbers, of strings
VARIED = 0.1  # variation from which blocks of many sizes that die in any order are nearer than a queue
SMALLEST = 8  # B
ELEMENTS = 1 << 18  # of Benchmark I
BLOCKS = 1 << 21  # of Benchmark III: what the first call in an aged heap takes is little beside them
MOST_BYTES = 64 << 20  # that live at a time
DIMENSIONS = ("density", "variation", "locality_dimension", "utilization_dimension", "contention_dimension")


@dataclass(frozen=True)
class Calibration:
    """Savings of a local allocator in the nearest benchmark, as shares of its CPU time."""

    benchmark: str
    dimensions: tuple[float, ...]
    savings: tuple[float, ...]  # in a fresh heap and in an aged one, with each of its forms
    faults: tuple[float, float]  # page faults in a fresh heap: of the global allocator, of the local one

    @property
    def name(self) -> str:
        return self.benchmark.split()[0]


def nearest(of: Subsystem) -> tuple[str, list[list[str]]]:
    """The program and the options of each of its forms."""
    blocks = max(of.acquired.blocks / max(of.episodes, 1), 1.0)
    if of.blow_up <= 1 / LIVING_TOGETHER:
        elements = 1 << min(max(round(log2(blocks)), 6), 16)
        rest = ["--elements", str(elements), "--operations", str(ELEMENTS), "--buffer", "0"]
        return "growth", [["--structure", made, *rest] for made in SETS]
    mean = max(round(of.mean_size), SMALLEST)
    active = max(min(of.most_bytes, MOST_BYTES), 2 * mean)
    total = max(BLOCKS * mean, 4 * active)
    sizes = ["--size", f"{mean}B"]
    if of.variation >= VARIED:
        sizes = ["--size", f"{2 * mean - SMALLEST}B", "--least-size", f"{SMALLEST}B", "--random-order"]
    return "utilization", [["--total", f"{total}B", "--active", f"{active}B", *sizes, "--buffer", "0"]]


def calibrated(
    of: Subsystem, strategy: LocalKind, arm: Arm, told: Callable[[str], None] = lambda _step: None
) -> Calibration:
    """Run the nearest benchmark under the global allocator `arm`, and local ones above it by turns."""
    name, forms = nearest(of)
    told(f"calibrating by {name}")
    columns = [GLOBAL, COLUMNS[strategy]]
    heaps = [turns(name, [*form, *age], columns, arm) for form in forms for age in ((), ("--aged", AGED))]
    faults = [median(run["minor_faults"] for run in runs) for runs in heaps[0]]
    return Calibration(
        benchmark=f"{name} {' '.join(forms[0])}",
        dimensions=tuple(heaps[0][0][0][dimension] for dimension in DIMENSIONS),
        savings=tuple(map(saved, heaps)),
        faults=(faults[0], faults[1]),
    )


def saved(runs: Sequence[Sequence[dict[str, float]]]) -> float:
    """The median share of the time that the second column saves, of pairs of runs."""
    before, after = runs
    return median(1 - new["cpu_time"] / old["cpu_time"] for old, new in zip(before, after, strict=True))


def turns(
    name: str, options: Sequence[str], columns: Sequence[str], arm: Arm
) -> list[list[dict[str, float]]]:
    """The metrics of ROUNDS runs of each column, by turns."""
    rounds = [[run(name, [*options, "--strategy", column], arm) for column in columns] for _ in range(ROUNDS)]
    return [list(column) for column in zip(*rounds, strict=True)]


def run(name: str, options: Sequence[str], arm: Arm) -> dict[str, float]:
    program = native.needed(native.program(OwnProgram(name)), name)
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        written = Path(folder) / "metrics"
        limits = Limits(time=LONGEST_S, huge_pages=arm.huge_pages)
        done = execute([program, *options, "--json", written], environment_for(arm), limits)
        if fault := failure(done, "", limits):
            raise HeaplabError(f"{name} under {arm.allocator}: {fault}")
        metrics = json.loads(written.read_text())["metrics"]
    return {key: float(metric["value"]) for key, metric in metrics.items()}
