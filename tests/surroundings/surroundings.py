#!/usr/bin/env python3
"""Run programs under malloc libraries where memory is locked, limited, or huge pages are for everybody.

Usage: surroundings.py PROBE FRUGAL LIBRARY...

Exit status 0: all hold, 1: one does not, 2: wrong usage.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path

MIB = 1 << 20
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def run(library: str, *command: str, data: int = resource.RLIM_INFINITY) -> subprocess.CompletedProcess[str]:
    """Run a command in at most `data` bytes of private writable memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))

    environment = os.environ | {"LD_PRELOAD": library}
    return subprocess.run(
        command, env=environment, preexec_fn=limit, capture_output=True, text=True, check=False, timeout=60
    )


def main() -> int:
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    probe, frugal, *libraries = sys.argv[1:]
    faults = 0

    def require(holds: bool, what: str, done: subprocess.CompletedProcess[str]) -> None:
        nonlocal faults
        faults += not holds
        if not holds:
            said = f"exit status {done.returncode}: {done.stdout}{done.stderr}"
            print(f"FAULT: {Path(library).name}: {what}: {said}")

    for library in libraries:
        done = run(library, probe, "huge")
        require(done.stdout == "0\n", "memory that may become huge pages unasked", done)
        if HUGE_PAGES.exists() and "[always]" in HUGE_PAGES.read_text():
            done = run(library, probe, "resident")
            require(int(done.stdout or MIB) < MIB, "resident bytes with huge pages for everybody", done)
        done = run(library, probe, "locked")
        fits = done.stdout == "refused\n" or (done.stdout.strip().isdigit() and int(done.stdout) < 256 * MIB)
        require(done.returncode == 0 and fits, "resident bytes with all memory locked", done)
        done = run(library, probe, "locked-out")
        require(done.returncode == 0 and done.stdout.endswith("served\n"), "no more to be locked", done)
        for mebibytes in (24, 64, 300):
            done = run(library, frugal, data=mebibytes * MIB)
            require(done.returncode == 0, f"{mebibytes} MiB of private memory", done)
    print(f"{len(libraries)} libraries, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
