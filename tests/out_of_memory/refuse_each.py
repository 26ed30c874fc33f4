#!/usr/bin/env python3
"""Refuse each call of a malloc library for memory in turn, and see its program live with it.

Usage: refuse_each.py PROGRAM REFUSED-CALLS-LIBRARY MALLOC-LIBRARY MOST

Runs PROGRAM once to count the calls, then once with only the n-th refused, once with 5 from the n-th on, and
once with all from there on, for each n, or for the first 20 and some MOST more, evenly spread. Each must end
with status 0.
Exit status 0: each does, 1: one does not, 2: wrong usage.
"""

import os
import subprocess
import sys

LIMIT_S = 30
SPANS = (1, 5, 10**9)


def run(program: str, preload: str, **settings: int) -> subprocess.CompletedProcess | None:
    """Run the program; None: no end within the limit."""
    variables = {f"HEAPLAB_REFUSE_{name.upper()}": str(value) for name, value in settings.items()}
    try:
        return subprocess.run(
            [program],
            env={"LD_PRELOAD": preload} | variables,
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return None


def main() -> int:
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    program, refusing, library = sys.argv[1:4]
    preload = os.pathsep.join((refusing, library))
    whole = run(program, preload, report=2)
    if whole is None or whole.returncode != 0:
        print(f"fails with nothing refused: {whole}")
        return 1
    calls = int(whole.stderr.split()[-1])
    faults = 0
    step = max(1, calls // int(sys.argv[4]))
    for first in [*range(1, min(calls, 20) + 1), *range(21, calls + 1, step)]:
        for count in SPANS:
            done = run(program, preload, **{"from": first, "count": count})
            if done is None or done.returncode != 0:
                faults += 1
                outcome = "no end" if done is None else f"exit status {done.returncode}: {done.stderr}"
                print(f"calls {first} to {first + count - 1} refused: {outcome}")
    print(f"{calls} calls for memory, {faults} faults")
    return 1 if faults or calls == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
