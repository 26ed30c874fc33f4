#!/usr/bin/env python3
"""Hold a malloc library to the system calls that the documentation names.

Usage: documented.py PROGRAM DOCUMENTATION NAME LIBRARY

PROGRAM (filtered.cpp) runs under LIBRARY and a filter that kills at every call but those of the table in
DOCUMENTATION: once in use, once from the start of the process, and for each call "in use" once without it,
which must kill. A variant without a column of its own makes at most the calls of its allocator.
Exit status 0: so it is, 1: not, 2: wrong usage or no such table.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

IN_USE, WAITING, IDLE, START = "in use", "waiting", "idle", "start"
WHEN = {IN_USE, WAITING, IDLE, START, "refusal", "asked"}


def documented(page: Path, name: str) -> tuple[dict[str, set[str]], bool]:
    """Return each call of the library's column and when it is made, and whether the column is its own."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.read_text().splitlines()
        if line.startswith("|")
    ]
    header, _, *calls = rows
    own = name in header
    column = header.index(name if own else name.partition("-")[0])
    result = {row[0].strip("`"): set(row[column].split(", ")) - {""} for row in calls}
    unknown = set().union(*result.values()) - WHEN
    if unknown:
        raise ValueError(f"{page}: {unknown} stands for nothing")
    return result, own


def run(program: str, library: str, mode: str, calls: set[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, mode, *sorted(calls)],
        env=os.environ | {"LD_PRELOAD": library},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def main() -> int:
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    program, page, name, library = sys.argv[1:]
    table, own = documented(Path(page), name)
    allowed = {call for call, when in table.items() if when & {IN_USE, WAITING, IDLE}}
    at_start = {call for call, when in table.items() if START in when}
    needed = {call for call, when in table.items() if IN_USE in when and own}
    faults = 0
    for mode, calls in (("use", allowed), ("start", allowed | at_start)):
        done = run(program, library, mode, calls)
        if done.returncode != 0:
            faults += 1
            print(f"FAULT: {mode}: exit status {done.returncode}: a call beyond {sorted(calls)}?")
    for call in sorted(needed):
        done = run(program, library, "use", allowed - {call})
        if done.returncode != -signal.SIGSYS:
            faults += 1
            print(f"FAULT: {call} is not made in use: exit status {done.returncode} without it")
    print(f"{len(allowed | at_start)} calls, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
