"""An advice for Perfetto's viewer: counters over time, in the JSON of Chrome's trace events."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heaplab.holders.answer import Evidence, HolderAnswer
from heaplab.holders.census import PARTS, Replays
from heaplab.holders.sentences import sentence
from heaplab.output import replacing

PROGRAM = 1  # number of the process; those of the allocators follow


def write(evidence: Evidence, verdict: HolderAnswer, path: Path) -> None:
    """Raises HeaplabError if the file cannot be written."""
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"verdict": sentence(evidence, verdict)},
        "traceEvents": list(events(evidence)),
    }
    with replacing(path) as beside:
        beside.write_text(json.dumps(document), encoding="utf-8")


def events(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Live memory of the program, then for each allocator the parts of its memory at each census."""
    profile = evidence.profile
    yield named(PROGRAM, profile.program)
    for place, stretch in enumerate(profile.stretches):
        time = 1e6 * profile.time(profile.origin + place * profile.width)
        yield counter(PROGRAM, "live", time, {"bytes": stretch.live_bytes})
        yield counter(PROGRAM, "live blocks", time, {"blocks": stretch.live_blocks})
    for number, replays in enumerate(evidence.replays, PROGRAM + 1):
        yield named(number, f"{profile.program} under {replays.name}")
        yield from censuses(number, replays)


def censuses(number: int, replays: Replays) -> Iterator[dict[str, Any]]:
    for place in range(len(replays.runs[0])):
        census = replays.typical(place)
        for part in PARTS:
            yield counter(number, part, census.time_us, {"bytes": getattr(census, part)})
        yield counter(number, "memory", census.time_us, {"bytes": census.memory})
        if census.why != "sample":
            yield {"ph": "i", "s": "p", "pid": number, "tid": 0, "ts": census.time_us, "name": census.why}


def named(number: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": number, "tid": 0, "name": "process_name", "args": {"name": name}}


def counter(number: int, name: str, microseconds: float, values: dict[str, int]) -> dict[str, Any]:
    return {"ph": "C", "pid": number, "tid": 0, "ts": microseconds, "name": name, "args": values}
