"""Benchmarks I to V of P0089 and P0213: their runs, and where each stands in the five dimensions."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from heaplab.advise.replaying import LONGEST_S
from heaplab.errors import HeaplabError
from heaplab.machine import native
from heaplab.machine.execute import environment_for, execute, failure
from heaplab.machine.watch import Limits
from heaplab.results.own_program import OwnProgram
from heaplab.results.records import Arm

NUMBERS = ("I", "II", "III", "IV", "V")
DIMENSIONS = ("density", "variation", "locality_dimension", "utilization_dimension", "contention_dimension")
# Dimensions are counted, not timed, and hardly depend on how much is done: short runs do.
STRINGS = ("growth", "--structure", "DS4", "--elements", "256", "--operations", "4096", "--buffer", "0")
CORNERS = {
    "I": STRINGS,
    "II": ("locality", "--elements-total", "16384", "--subsystems", "64"),
    "III": ("utilization", "--total", "4MiB", "--active", "64KiB", "--size", "1KiB", "--buffer", "0"),
    "IV": ("contention", "--threads", "2", "--allocations", "4096", "--restarts", "1"),
    "V": (*STRINGS, "--fragments", "4096", "--freed", "75%"),
}
Corners = dict[str, tuple[float, ...]]


def corners(arm: Arm) -> Corners:
    """The dimensions of each benchmark, as its program counts them."""
    counts = {number: run(words[0], words[1:], arm) for number, words in CORNERS.items()}
    return {number: tuple(counted[name] for name in DIMENSIONS) for number, counted in counts.items()}


def run(name: str, options: Sequence[str], arm: Arm) -> dict[str, float]:
    """The metrics of a run. Raises HeaplabError."""
    program = native.needed(native.program(OwnProgram(name)), name)
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        written = Path(folder) / "metrics"
        limits = Limits(time=LONGEST_S, huge_pages=arm.huge_pages)
        done = execute([program, *options, "--json", written], environment_for(arm), limits)
        if fault := failure(done, "", limits):
            raise HeaplabError(f"{name} under {arm.allocator}: {fault}")
        metrics = json.loads(written.read_text())["metrics"]
    return {key: float(metric["value"]) for key, metric in metrics.items()}
