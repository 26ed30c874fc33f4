"""Snapshots of a recording that samples: the processes count in files, which are read here from outside."""

import mmap
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heaplab.machine import container
from heaplab.machine.watch import page_kinds
from heaplab.traces import mapped_code, sampled_process
from heaplab.traces.sample_file import (
    BY_TIME,
    Head,
    ProcessSamples,
    SampleWriter,
    Snapshot,
    append,
    is_sample,
    packed,
)

MOST_PROCESSES = 64  # in a snapshot: of more, the ended ones that allocated least are left out for good
MARKS_EVERY_S = 0.1  # between two looks whether memory has passed a mark
END, ASKED, LEFT_BEHIND = "end", "signal", "what a recording left behind"


@dataclass(frozen=True)
class SamplingPlan:
    mean: int  # B between two samples
    every: float | None = None  # s between snapshots
    marks: Sequence[int] = ()  # B of memory: at the first time that it is passed, a snapshot is taken
    at_high: bool = False  # the same for `memory.high` of the control group
    page_period: int = 0  # of which one page is watched; 0: none is


class Sampling:
    """Takes snapshots of the processes that sample into a folder."""

    def __init__(self, raw: Path, output: Path | None, plan: SamplingPlan) -> None:
        """Without `output`, snapshots are not kept."""
        self._raw = raw
        self._plan = plan
        self._writer = SampleWriter(output, head_of(plan)) if output else None
        self._began = time.monotonic()
        self._next = self._began + (plan.every or float("inf"))
        self._marks = sorted(plan.marks)
        self._throttled = container.times_throttled() if plan.at_high else None
        self._look_at = self._began
        self._asked = False
        self._left_out = 0

    def ask(self) -> None:
        """Have the next tick take a snapshot: for signal handlers."""
        self._asked = True

    def tick(self) -> None:
        """Take a snapshot if there is a reason to. Raises HeaplabError if it cannot be written."""
        if why := self._reason(time.monotonic()):
            self.take(why)

    def _reason(self, now: float) -> str:
        if self._asked:
            self._asked = False
            return ASKED
        if now >= self._next:
            self._next = max(now, self._next + (self._plan.every or 0))
            return BY_TIME
        if now < self._look_at:
            return ""
        self._look_at = now + MARKS_EVERY_S
        if self._throttled is not None and self._throttled != container.times_throttled():
            self._throttled = None
            return "memory.high was passed"
        if self._marks:
            memory = sum(resident(pid) for pid in self.running())
            passed = [mark for mark in self._marks if memory >= mark]
            self._marks = self._marks[len(passed) :]
            return f"memory passed {passed[-1]} B" if passed else ""
        return ""

    def running(self) -> list[int]:
        """The processes that sample into the folder."""
        named = {int(path.stem.rpartition("-")[2], 16) for path in self._raw.glob("*.raw")}
        return [pid for pid in named if maps_of(pid, self._raw)]

    def take(self, why: str) -> Snapshot:
        """Raises HeaplabError if the snapshot cannot be written."""
        snapshot = self.look(why)
        if self._writer and snapshot.processes:
            self._writer.add(snapshot)
        return snapshot

    def look(self, why: str) -> Snapshot:
        samples: list[tuple[ProcessSamples, Path]] = []
        for path in sorted(self._raw.glob("*.raw")):
            if process := process_of(path, self._plan.mean):
                samples.append((process, path))
        samples.sort(key=lambda each: (each[0].ended, -each[0].acquired.bytes))
        for process, path in samples[MOST_PROCESSES:]:
            if process.ended:
                path.unlink(missing_ok=True)
                path.with_suffix(".maps").unlink(missing_ok=True)
                self._left_out += 1
        return Snapshot(
            at_unix_ns=time.time_ns(),
            seconds=time.monotonic() - self._began,
            why=why,
            processes=[process for process, _ in samples[:MOST_PROCESSES]],
            left_out=self._left_out,
        )


def finish(raw: Path, output: Path, plan: SamplingPlan) -> None:
    """Add what a folder holds to the snapshots, as the last one. Raises HeaplabError."""
    last = Sampling(raw, None, plan).look(LEFT_BEHIND)
    if output.exists() and is_sample(output):
        append(output, packed(last))
    else:
        SampleWriter(output, head_of(plan)).add(last)


def head_of(plan: SamplingPlan) -> Head:
    return Head(
        heaplab_sample=1,
        sample_bytes=plan.mean,
        page_period=plan.page_period,
        page_bytes=mmap.PAGESIZE,
        machine=platform.machine(),
    )


def process_of(path: Path, mean: int) -> ProcessSamples | None:
    """The process of a file; None if it has not yet described itself, or its file is gone."""
    now_ms = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000
    try:
        process = sampled_process.read(path, mean, now_ms)
        noted = path.with_suffix(".maps")
        notes = noted.read_text(errors="replace") if noted.exists() else ""
    except OSError:
        return None
    if process is None:
        return None
    mapped = maps_of(process.pid, path)
    modules, build_ids = mapped_code.code_of(notes, mapped)
    return ProcessSamples(
        pid=process.pid,
        parent_pid=process.parent_pid,
        program=process.program,
        executable=process.executable,
        arguments=process.arguments,
        allocator=process.allocator,
        begin_ns=process.begin_ns,
        ended=not mapped,
        resident=resident(process.pid) if mapped else 0,
        lost=process.lost,
        modules=modules,
        build_ids=build_ids,
        sites=process.sites,
        pinned=process.pinned,
    )


def maps_of(pid: int, within: Path) -> str:
    """The mappings of a process that has a file mapped, or one of a folder; "" of another."""
    try:
        mappings = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return ""
    return mappings.decode(errors="replace") if os.fsencode(within.resolve()) in mappings else ""


def resident(pid: int) -> int:
    anonymous, shared, _ = page_kinds(pid)
    return anonymous + shared
