"""What malloc explains of the memory of the processes of a trace, as sampled while they were recorded."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heaplab.machine import interposition
from heaplab.machine.coverage import compiled_in, explained, tree_sampler
from heaplab.machine.coverage.explained import Ranges
from heaplab.machine.coverage.tree_sampler import MemorySample, SampledProcess
from heaplab.results.records import Coverage
from heaplab.traces.profile import Profile

FEWEST_LOOKS = 3  # at a process: fewer show how it was loaded
OWN_TABLES = 4 << 20  # B: tcmalloc's tables and the data of its files; those of other allocators are smaller
Summary = dict[str, Any]


def at_peaks(summary: Summary) -> list[Coverage]:
    """The processes of a trace at the peak of their memory, and those not seen; the largest first."""
    coverages = []
    for process in sampled(summary):
        if process.unseen:
            sample = process.largest or MemorySample(0, [])
            coverages.append(explained.coverage_of(process.name, sample, (), unseen=process.unseen))
        elif process.largest and is_known(process):
            entries = entries_of(summary, process)
            if not any(lost_calls(summary, number) for number in entries):
                coverages.append(covered(summary, entries, process, process.largest))
    return sorted(coverages, key=lambda each: -each.memory)


def at_moment(summary: Summary, profile: Profile, seconds: float | None) -> Coverage | None:
    """The process of a profile, `seconds` after its first event; None if it was not sampled.

    Without `seconds` at the end: all that follows the last event. Without times the peak of its memory stands
    for every moment.
    """
    for process in sampled(summary):
        entries = entries_of(summary, process)
        if process.unseen or not is_known(process) or entries[-1:] != [profile.process]:
            continue
        sample = sample_at(process, profile, seconds)
        known = sample and not lost_calls(summary, profile.process)
        return covered(summary, entries, process, sample) if sample and known else None
    return None


def sample_at(process: SampledProcess, profile: Profile, seconds: float | None) -> MemorySample | None:
    if not profile.timed:
        return process.largest
    after = profile.time(profile.last_stamp) if seconds is None else seconds
    first = profile.time(profile.origin) - profile.time(int(profile.of["start_ticks"]))
    moment = int(profile.of["start_ns"]) + int((first + after) * 1e9)
    rest = process.largest_from(moment) if seconds is None else None
    return rest or process.nearest(moment)


def sampled(summary: Summary) -> list[SampledProcess]:
    """The sampled processes.

    There are none in a trace of another recorder, or of a window of a program's life. What is no text of
    heaplab's counts as none.
    """
    first = next(iter(summary["processes"]), None)
    try:
        return tree_sampler.read(first["summary"].get("memory", "[]")) if first else []
    except (ValueError, TypeError, KeyError):
        return []


def is_known(process: SampledProcess) -> bool:
    """Whether the process was seen often enough."""
    return process.largest is not None and process.looks >= FEWEST_LOOKS


def entries_of(summary: Summary, process: SampledProcess) -> list[int]:
    """The numbers of a sampled process in the trace, the last one counts; none if it made no call."""
    return [
        number
        for number, each in enumerate(summary["processes"])
        if each["process"].get("pid") == str(process.pid) and runs(each, process)
    ]


def runs(entry: dict[str, Any], process: SampledProcess) -> bool:
    """Whether a process of the trace runs the same file as the sampled one."""
    return Path(entry["process"].get("executable", "")).resolve() == Path(process.program)


def lost_calls(summary: Summary, number: int) -> bool:
    return int(summary["processes"][number]["summary"].get("lost") or 0) > 0


def covered(
    summary: Summary, entries: Sequence[int], process: SampledProcess, sample: MemorySample
) -> Coverage:
    """The parts of a sample. A process that made no call has the blocks of the one that it is a copy of."""
    every = summary["processes"]
    copied = [number for number, each in enumerate(every) if runs(each, process)]
    allocators = {every[number]["process"].get("allocator", "") for number in entries or copied}
    coverage = explained.coverage_of(
        process.name,
        sample,
        merged(
            pair for number in entries[-1:] or copied for pair in ranges_of(summary, number, sample.at_ns)
        ),
        own=0 if all(has_no_tables(Path(path), process) for path in allocators) else OWN_TABLES,
    )
    if not coverage.matters:
        return coverage
    return coverage.model_copy(update={"mallocs": compiled_in.mallocs_in(process.program)})


def has_no_tables(allocator: Path, process: SampledProcess) -> bool:
    """Whether the allocator is the C library, whose tables lie in its blocks, or a part of the program."""
    return bool(interposition.C_LIBRARY.fullmatch(allocator.name)) or allocator == Path(process.program)


def ranges_of(summary: Summary, number: int, at_ns: int) -> Ranges:
    """Where a process had blocks at a moment, and, of a copy of its parent, where the parent had."""
    return merged(pair for process in family(summary, number) for pair in pairs(process, at_ns))


def family(summary: Summary, number: int) -> Iterator[dict[str, str]]:
    """The summaries of a process and of those that it is a copy of."""
    process = summary["processes"][number]
    yield process["summary"]
    if process["process"].get("forked") != "1":
        return
    for earlier in range(number):
        if summary["processes"][earlier]["process"].get("pid") == process["process"].get("parent_pid"):
            yield from family(summary, earlier)


def pairs(summary: dict[str, str], at_ns: int) -> Iterator[tuple[int, int]]:
    """The ranges at the known moment that is closest."""
    lines = re.findall(r"^(\d+) (.*)$", summary.get("ranges", ""), re.MULTILINE)
    _, ranges = min(lines, key=lambda line: abs(int(line[0]) - at_ns), default=("", ""))
    for begin, end in re.findall(r"([0-9a-f]+)-([0-9a-f]+)", ranges):
        yield int(begin, 16), int(end, 16)


def merged(ranges: Iterator[tuple[int, int]]) -> Ranges:
    """The ranges in ascending order, without overlaps."""
    disjoint: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if disjoint and begin <= disjoint[-1][1]:
            disjoint[-1] = disjoint[-1][0], max(end, disjoint[-1][1])
        else:
            disjoint.append((begin, end))
    return disjoint
