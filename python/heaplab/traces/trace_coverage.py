"""What malloc explains of the memory of the processes of a trace, as sampled while they were recorded."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heaplab.coverage import compiled_in, explained, tree_sampler
from heaplab.coverage.explained import Ranges
from heaplab.coverage.tree_sampler import MemorySample, SampledProcess
from heaplab.machine import interposition
from heaplab.results.records import Coverage
from heaplab.traces.profile import Profile

FEWEST_LOOKS = 3  # at a process: fewer show how it was loaded
OWN_TABLES = 4 << 20  # B: tcmalloc's tables and the data of its files; those of other allocators are smaller
Summary = dict[str, Any]


def at_peaks(summary: Summary) -> list[Coverage]:
    """The processes of a trace at the peak of their memory, and those not seen; the largest first."""
    found = []
    for process in sampled(summary):
        if process.unseen and process.largest:
            found.append(explained.coverage_of(process.name, process.largest, (), unseen=process.unseen))
        elif (number := number_of(summary, process)) is not None and is_known(process):
            assert process.largest
            found.append(covered(summary, number, process, process.largest))
    return sorted(found, key=lambda one: -one.memory)


def at_moment(summary: Summary, profile: Profile, seconds: float | None) -> Coverage | None:
    """The process of a profile, `seconds` after its first event; None if it was not sampled.

    Without `seconds` at the end: all that follows the last event. Without times the peak of its memory stands
    for every moment.
    """
    for process in sampled(summary):
        if process.unseen or not is_known(process) or number_of(summary, process) != profile.process:
            continue
        sample = sample_at(process, profile, seconds)
        return covered(summary, profile.process, process, sample) if sample else None
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


def number_of(summary: Summary, process: SampledProcess) -> int | None:
    """The number of a sampled process in the trace; None if it made no call that was recorded."""
    found = [
        number
        for number, one in enumerate(summary["processes"])
        if one["process"].get("pid") == str(process.pid)
        and Path(one["process"].get("executable", "")).resolve() == Path(process.program)
        and not int(one["summary"].get("lost") or 0)
    ]
    return found[-1] if found else None


def covered(summary: Summary, number: int, process: SampledProcess, sample: MemorySample) -> Coverage:
    allocator = Path(summary["processes"][number]["process"].get("allocator", "")).name
    found = explained.coverage_of(
        process.name,
        sample,
        ranges_of(summary, number, sample.at_ns),
        own=0 if interposition.C_LIBRARY.fullmatch(allocator) else OWN_TABLES,
    )
    if not found.matters:
        return found
    return found.model_copy(update={"mallocs": compiled_in.mallocs_in(process.program)})


def ranges_of(summary: Summary, number: int, at_ns: int) -> Ranges:
    """Where a process had blocks at a moment, and, of a copy of its parent, where the parent had."""
    return merged(pair for one in family(summary, number) for pair in pairs(one, at_ns))


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
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found
