"""Replays a recording with censuses under allocators, and with chosen call sites in a heap of their own."""

import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from heaplab.catalog import native
from heaplab.errors import HeaplabError, UsageError
from heaplab.holders.census import Census, Replays, read
from heaplab.machine.execute import environment_for, execute, failure
from heaplab.machine.watch import Limits
from heaplab.records import Arm
from heaplab.traces.tool import ANY_NAME

RUNS = 3
LONGEST_S = 3600.0
LONG_S = 20.0  # a replay that takes longer is not repeated


@dataclass(frozen=True)
class Treatment:
    """An allocator, and whether malloc_trim is called before each census."""

    arm: Arm
    trim: bool = False

    @property
    def name(self) -> str:
        return f"{self.arm.allocator} + malloc_trim" if self.trim else self.arm.allocator


@dataclass(frozen=True)
class Recording:
    """A process of a trace, and how it is replayed."""

    trace: Path
    process: int
    folder: Path  # for compiled workloads
    options: Sequence[str] = ()  # of the replay
    told: Callable[[str], None] = lambda _step: None  # hears of each step

    def compiled(self, apart: Collection[int] = ()) -> Path:
        """As a workload; blocks of the sites `apart` have a heap of their own. Raises UsageError."""
        compiler = native.helper("compile_trace")
        if compiler is None:
            raise HeaplabError("compile_trace is missing: heaplab is not completely installed")
        made = self.folder / ("apart.workload" if apart else "recorded.workload")
        sites = ["--apart", ",".join(map(str, sorted(apart)))] if apart else []
        self.told("compiling" + (" with sites apart" if apart else ""))
        done = subprocess.run(
            [compiler, self.trace, made, str(self.process), "--census", *sites],
            capture_output=True,
            errors=ANY_NAME,
            check=False,
        )
        if done.returncode != 0:
            raise UsageError(done.stderr.strip().removeprefix("compile_trace: "))
        return made

    def replayed(self, workload: Path, treatments: Sequence[Treatment]) -> list[Replays]:
        """Of each treatment several replays. Raises HeaplabError."""
        return [self._under(workload, treatment) for treatment in treatments]

    def _under(self, workload: Path, treatment: Treatment) -> Replays:
        self.told(f"replaying under {treatment.name}")
        runs: list[tuple[Census, ...]] = []
        while len(runs) < RUNS:
            text, seconds = self._once(workload, treatment)
            runs.append(tuple(read(text)))
            if seconds > LONG_S:
                break
        return Replays(treatment.name, tuple(runs))

    def _once(self, workload: Path, treatment: Treatment) -> tuple[str, float]:
        program = native.program("replay")
        if program is None:
            raise HeaplabError("replay is missing: heaplab is not completely installed")
        census = self.folder / "census"
        command: list[str | Path] = [program, "--file", workload, "--census", census, *self.options]
        command += ["--trim"] if treatment.trim else []
        limits = Limits(time=LONGEST_S, huge_pages=treatment.arm.huge_pages)
        with tempfile.TemporaryFile("w+b") as errors:
            done = execute(command, environment_for(treatment.arm), limits, errors=errors)
            errors.seek(0)
            message = errors.read().decode(errors=ANY_NAME).strip().replace("\n", "; ")
        if fault := failure(done, message, limits):
            raise HeaplabError(f"replay under {treatment.name}: {fault}")
        return census.read_text(), done.process.wall_time
