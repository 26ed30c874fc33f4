"""Counters over time for Perfetto's viewer, in the JSON of Chrome's trace events."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from heaplab.advise.answer import Evidence
from heaplab.advise.census import PARTS, SAMPLE
from heaplab.advise.sampled_growth import SampledAnswer
from heaplab.files.output import write_text

PROGRAM = 1  # number of the process; those of the allocators follow
CALLERS = 10  # by live bytes, of samples

Event = dict[str, Any]


def write(path: Path, verdict: str, events: Iterable[Event]) -> None:
    """Raises HeaplabError."""
    document = {"displayTimeUnit": "ms", "otherData": {"verdict": verdict}, "traceEvents": list(events)}
    write_text(path, json.dumps(document))


def of_replays(evidence: Evidence) -> Iterator[Event]:
    """Live memory of the program, then for each allocator the parts of its memory at each census."""
    profile = evidence.profile
    yield named(PROGRAM, profile.program)
    for place, stretch in enumerate(profile.stretches):
        time = 1e6 * profile.time(profile.origin + place * profile.width)
        yield counter(PROGRAM, "live", time, {"bytes": stretch.live_bytes})
        yield counter(PROGRAM, "live blocks", time, {"blocks": stretch.live_blocks})
    for number, replays in enumerate(evidence.replays, PROGRAM + 1):
        yield named(number, f"{profile.program} under {replays.name}")
        for census in map(replays.typical, range(len(replays.runs[0]))):
            for part in (*PARTS, "memory"):
                yield counter(number, part, census.time_us, {"bytes": getattr(census, part)})
            if census.why != SAMPLE:
                yield {"ph": "i", "s": "p", "pid": number, "tid": 0, "ts": census.time_us, "name": census.why}


def of_samples(answer: SampledAnswer) -> Iterator[Event]:
    """What each snapshot estimates, with the bounds of the intervals, and the call sites that hold most."""
    last = answer.last
    yield named(PROGRAM, last.profile.program)
    most = sorted(last.callers, key=lambda key: -last.callers[key].live.bytes)[:CALLERS]
    for moment in answer.moments:
        time = 1e6 * moment.snapshot.seconds
        values: dict[str, float] = {"resident": moment.process.resident}
        estimates = {"live": moment.live, "allocated": moment.acquired, "pinned": moment.pinned}
        for name, estimate in estimates.items():
            if estimate:
                values[name] = estimate.value
                values |= {f"{name}, at least": estimate.low, f"{name}, at most": estimate.high}
        for key in most:
            if caller := moment.callers.get(key):
                values[f"live: {last.callers[key].name}"] = caller.live.bytes
        for name, value in values.items():
            yield counter(PROGRAM, name, time, {"bytes": round(value)})


def named(number: int, name: str) -> Event:
    return {"ph": "M", "pid": number, "tid": 0, "name": "process_name", "args": {"name": name}}


def counter(number: int, name: str, microseconds: float, values: dict[str, int]) -> Event:
    return {"ph": "C", "pid": number, "tid": 0, "ts": microseconds, "name": name, "args": values}
