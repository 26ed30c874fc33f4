"""Samples the mappings of the processes of a tree while it runs, from outside."""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from heaplab.machine.coverage.mappings import Mapping, MappingKind, memory_of
from heaplab.machine.coverage.unseen import why_not_seen
from heaplab.machine.process_tree import name_of
from heaplab.machine.watch import page_kinds

GROWTH = 1.05  # a process that grew by this factor since its largest sample is sampled at once
MOST_SAMPLES = 24  # of a process, spread over its life
FIRST_S = 0.02  # between two samples that no growth demands
REST = 5  # s of pause for each second that a sample takes: the kernel walks all page tables for one
SMALLEST = 1 << 16  # B: memory of a process that is not worth a sample
MOST_PROCESSES = 32  # that are written, the largest ones and those not seen


@dataclass(frozen=True)
class MemorySample:
    at_ns: int  # CLOCK_MONOTONIC
    mappings: list[Mapping]

    @property
    def bytes(self) -> int:
        return sum(mapping.bytes for mapping in self.mappings)


@dataclass
class SampledProcess:
    """The memory of a process over time."""

    pid: int
    program: str  # path of its file
    name: str  # for people
    unseen: str | None = None  # why the preloaded library is not in it; None: not known yet
    looks: int = 0  # how often it was looked at; not every look takes a sample
    largest: MemorySample | None = None
    samples: list[MemorySample] = field(default_factory=list)
    between_s: float = FIRST_S
    next_at: float = 0.0

    def wants(self, now: float, resident: int) -> bool:
        has_grown = resident > GROWTH * (self.largest.bytes if self.largest else SMALLEST)
        return now >= self.next_at or has_grown

    def add(self, sample: MemorySample) -> None:
        """Keep the largest sample, and some of all others: every second is dropped when there are many."""
        if self.largest is None or sample.bytes > self.largest.bytes:
            self.largest = sample
        self.samples.append(sample)
        if len(self.samples) > MOST_SAMPLES:
            del self.samples[::2]
            self.between_s *= 2

    @property
    def kept(self) -> list[MemorySample]:
        """The samples with the largest one, in the order of time; of a process not seen the largest alone."""
        largest = [self.largest] if self.largest else []
        every = largest if self.unseen else [*self.samples, *largest]
        return sorted({sample.at_ns: sample for sample in every}.values(), key=lambda sample: sample.at_ns)

    def nearest(self, at_ns: int) -> MemorySample | None:
        """The sample closest to a moment."""
        return min(self.kept, key=lambda sample: abs(sample.at_ns - at_ns), default=None)

    def largest_from(self, at_ns: int) -> MemorySample | None:
        """The largest sample from a moment on."""
        later = (sample for sample in self.kept if sample.at_ns >= at_ns)
        return max(later, key=lambda sample: sample.bytes, default=None)


class TreeSampler:
    """Looks at processes again and again; `look` is that of machine/watch.py.

    `library` is the one that is preloaded. Files in the folder `apart` are no memory of the program.
    """

    def __init__(self, library: str, apart: str = "") -> None:
        self._library = library
        self._apart = apart
        self._of: dict[tuple[int, str], SampledProcess] = {}

    @property
    def processes(self) -> list[SampledProcess]:
        return list(self._of.values())

    def look(self, _at: float, tree: Iterable[int]) -> None:
        for pid in tree:
            with contextlib.suppress(OSError):  # the process has ended meanwhile
                self._look_at(pid)

    def _look_at(self, pid: int) -> None:
        anonymous, shared, _ = page_kinds(pid)
        if not anonymous + shared:
            return
        try:
            program = os.readlink(f"/proc/{pid}/exe")
        except PermissionError:
            self._add_hidden(pid, anonymous + shared)
            return
        known = self._of.get((pid, program))
        if not known:
            known = SampledProcess(pid, program, name_of(pid, Path(program)))
            self._of[pid, program] = known
        known.looks += 1
        began = time.monotonic()
        if not known.wants(began, anonymous + shared):
            return
        memory = memory_of(pid, self._apart)
        if not known.unseen:
            known.unseen = why_not_seen(pid, Path(program), known.name, memory.names, self._library)
        if known.unseen is not None:
            known.add(MemorySample(time.monotonic_ns(), memory.mappings))
        ended = time.monotonic()
        known.next_at = ended + max(known.between_s, REST * (ended - began))

    def _add_hidden(self, pid: int, resident: int) -> None:
        """A process of another user: the kernel tells its size alone."""
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        reason = f"{name} runs as another user, so that its loader ignores LD_PRELOAD"
        known = self._of.setdefault((pid, name), SampledProcess(pid, name, name, reason))
        known.add(MemorySample(time.monotonic_ns(), [Mapping(0, 0, MappingKind.ANONYMOUS, resident, 0)]))


def text_of(processes: Sequence[SampledProcess]) -> str:
    """The processes as JSON, which `read` reads."""
    worth = [process for process in processes if process.largest or process.unseen]
    worth.sort(key=lambda sample: (not sample.unseen, -(sample.largest.bytes if sample.largest else 0)))
    rows = [
        {
            "pid": sample.pid,
            "program": sample.program,
            "name": sample.name,
            "unseen": sample.unseen or "",
            "looks": sample.looks,
            "samples": [[sample.at_ns, sample.mappings] for sample in sample.kept],
        }
        for sample in worth[:MOST_PROCESSES]
    ]
    return json.dumps(rows, separators=(",", ":"))


def read(text: str) -> list[SampledProcess]:
    processes = []
    for row in json.loads(text):
        pid, program = row["pid"], row["program"]
        name = row.get("name") or Path(program).name
        process = SampledProcess(pid, program, name, row["unseen"], row["looks"])
        for at_ns, mappings in row["samples"]:
            rows = [
                Mapping(start, end, MappingKind(kind), size, huge)
                for start, end, kind, size, huge in mappings
            ]
            sample = MemorySample(at_ns, rows)
            process.samples.append(sample)
            if process.largest is None or sample.bytes > process.largest.bytes:
                process.largest = sample
        processes.append(process)
    return processes
