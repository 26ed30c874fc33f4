#!/usr/bin/env python3
"""A recording that begins while a program runs: what lived before is in the trace, and the order is proven.

Usage: windows.py RECORDER TRACE_TOOL PROGRAMS CASE      PROGRAMS is the folder of the test programs
"""

import subprocess
import sys
from collections import Counter

from recorded_program import WAITING, Recorder, expect_all, number, run_case

THREADS, CALLS = 4, 30_000
KEPT, RESIZED = 900, 100


def window(recorder: Recorder) -> None:
    assert recorder.record("recorded_window", THREADS, CALLS, recorder.raw, state=WAITING) == 0
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "released_inherited") == 0
    assert number(process, "releases") > THREADS * CALLS / 2
    events = recorder.events()
    lived = [event for event in events if event["thread"] == "0"]
    assert len(lived) == number(process, "lived_blocks")
    assert sum(int(event["size"]) for event in lived) == number(process, "lived_bytes")
    kinds = Counter((event["kind"], event["size"]) for event in lived)
    assert kinds["calloc", "3001"] == KEPT - RESIZED
    assert kinds["realloc_to", "3002"] == RESIZED
    assert "0" not in {event["caller"] for event in lived}
    stamps = [int(event["stamp"]) for event in events]
    assert stamps == sorted(stamps)
    assert number(process, "live_blocks") < KEPT  # what lived before was released
    assert number(process, "peak_bytes") >= number(process, "lived_bytes")


def processes_before_the_window(recorder: Recorder) -> None:
    """What ended before the window leaves nothing."""
    assert recorder.record("recorded_processes", "spawn", state=WAITING) == 0
    assert [path.name for path in recorder.raw.iterdir()] == ["control"]
    finish = [recorder.tool, "finish", recorder.raw, recorder.trace]
    said = subprocess.run(finish, check=False, capture_output=True)
    assert (said.returncode, said.stderr.count(b"\n")) == (1, 1)


def table_refused(recorder: Recorder) -> None:
    """Where the table of live blocks finds no room, that is counted."""
    limit = 3 * 16384
    assert recorder.record("recorded_window", 1, 1000, recorder.raw, state=WAITING, most_bytes=limit) == 0
    [process] = recorder.processes()
    assert process["summary"]["lost_because"] == "size limit"
    assert 0 < number(process, "lived_blocks") < KEPT


CASES = (window, processes_before_the_window, table_refused)

if __name__ == "__main__":
    sys.exit(run_case(__doc__, CASES))
