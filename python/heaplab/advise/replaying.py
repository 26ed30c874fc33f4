"""Replays a recording with censuses under allocators, and with chosen call sites in a heap of their own."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from heaplab.advise.census import SAMPLE, Census, Replays, read
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import native
from heaplab.machine.execute import environment_for, execute, failure
from heaplab.machine.watch import Limits
from heaplab.results.own_program import REPLAY
from heaplab.results.records import Arm
from heaplab.traces.tool import ANY_NAME

RUNS = 3
C_LIBRARY = "glibc"
# Bytes by which the heap of each further replay begins later. How much the C library gives back depends on
# the rest of the last piece of 132 KiB that it got from the system.
SHIFT = 45056
LONGEST_S = 3600.0
LONG_S = 20.0  # a replay that takes longer is not repeated


@dataclass(frozen=True)
class Treatment:
    """An allocator, and whether malloc_trim is called before each census."""

    arm: Arm
    trim: bool = False

    @property
    def purges_by_time(self) -> bool:
        """Whether it may give memory back some time after a free: any but the C library may."""
        return self.arm.allocator != C_LIBRARY

    @property
    def name(self) -> str:
        return f"{self.arm.allocator} + malloc_trim" if self.trim else self.arm.allocator


class Compiled(NamedTuple):
    path: Path
    calls: int
    peak_live_bytes: int


class Cost(NamedTuple):
    """The cost of a replay: seconds for all its calls, the most memory in bytes, page faults."""

    seconds: float  # of its processor if it has one thread, else by the clock: threads wait for each other
    memory: float
    faults: float


@dataclass(frozen=True)
class Recording:
    """A process of a trace, with the options of its replays."""

    trace: Path
    process: int
    folder: Path  # for compiled workloads
    # How often allocators that purge by time are replayed, no faster than the program ran. 0: all replays are
    # as fast as possible.
    slow_runs: int = 0
    told: Callable[[str], None] = lambda _step: None  # gets the name of each step

    def compiled(self, apart: Collection[int] = ()) -> Path:
        """The recording as a workload; blocks of the sites `apart` get their own heap. Raises UsageError."""
        self.told("compiling" + (" with sites apart" if apart else ""))
        sites = ["--apart", ",".join(map(str, sorted(apart)))] if apart else []
        return self.workload("apart" if apart else "recorded", "--census", *sites).path

    def workload(self, name: str, *options: str) -> "Compiled":
        """Compiled with options of compile_trace. Raises UsageError."""
        compiler = native.needed(native.helper("compile_trace"), "compile_trace")
        made = self.folder / f"{name}.workload"
        done = subprocess.run(
            [compiler, self.trace, made, str(self.process), *options],
            capture_output=True,
            errors=ANY_NAME,
            check=False,
        )
        if done.returncode != 0:
            raise UsageError(done.stderr.strip().removeprefix("compile_trace: "))
        counts = json.loads(done.stdout.splitlines()[-1])
        return Compiled(made, counts["calls"], counts["peak_live_bytes"])

    def replayed(self, workload: Path, treatment: Treatment) -> Replays:
        """One or several replays of a treatment. Raises HeaplabError.

        While a replay stands still for a census, time passes for allocators that purge after some time.
        Therefore only the first replay has the samples, which merely show the course.
        """
        self.told(f"replaying under {treatment.name}")
        slow = self.slow_runs if treatment.purges_by_time else 0
        runs: list[tuple[Census, ...]] = []
        while len(runs) < (slow or RUNS):
            options = ["--shift", str(len(runs) * SHIFT), *(["--trim"] if treatment.trim else [])]
            if slow:
                options += ["--pace", "recorded"]
            if runs:
                options.append("--no-samples")
            census, cost = self.census(workload, treatment.arm, *options)
            own = iter(census)
            # Without samples of its own, a run has those of the first.
            runs.append(tuple(run if run.why == SAMPLE else next(own) for run in runs[0]) if runs else census)
            if cost.seconds > LONG_S:
                break
        return Replays(treatment.name, tuple(runs), hurried=treatment.purges_by_time and not slow)

    def census(self, workload: Path, arm: Arm, *options: str) -> tuple[tuple[Census, ...], "Cost"]:
        """The censuses of one replay."""
        written = self.folder / "census"
        cost = self.cost(workload, arm, "--census", str(written), *options)
        return tuple(read(written.read_text())), cost

    def cost(self, workload: Path, arm: Arm, *options: str) -> "Cost":
        program = native.needed(native.program(REPLAY), "replay")
        written = self.folder / "metrics"
        command: list[str | Path] = [program, "--file", workload, "--json", written, *options]
        limits = Limits(time=LONGEST_S, huge_pages=arm.huge_pages)
        with tempfile.TemporaryFile("w+b") as errors:
            done = execute(command, environment_for(arm), limits, errors=errors)
            errors.seek(0)
            message = errors.read().decode(errors=ANY_NAME).strip().replace("\n", "; ")
        if fault := failure(done, message, limits):
            raise HeaplabError(f"replay under {arm.allocator}: {fault}")
        metrics = json.loads(written.read_text())["metrics"]
        clock = "wall_time" if metrics["threads_started"]["value"] else "cpu_time"
        return Cost(*(metrics[name]["value"] for name in (clock, "peak_memory", "minor_faults")))
