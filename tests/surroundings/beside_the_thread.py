#!/usr/bin/env python3
"""Let a process do what the kernel judges by its threads while the heap's own thread is there.

Usage: beside_the_thread.py PROGRAM LIBRARY...

PROGRAM is idle_process. Under each library it must do as without, with the exceptions of DEVIATIONS, which
must still deviate; with HEAPLAB_SCALLOC_PURGE_WHEN_IDLE=0, which keeps the thread away, and under a hardened
library, which has none unless told, without exception.
docs/system-calls.md names the exceptions. Exit status 0: so it is, 1: it is not, 2: wrong usage.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

ACTIONS = ["unshare", "unshare-later", "setuid", "setuid-busy", "fork", "exec", "no-clone"]
DEVIATIONS = {"unshare": "Invalid argument", "no-clone": signal.Signals.SIGSYS.name}


def outcome(program: str, action: str, **variables: str) -> tuple[int, str]:
    """Return how many threads the process had before an action, and what came of the action."""
    done = subprocess.run(
        [program, action], env=os.environ | variables, capture_output=True, text=True, check=False, timeout=60
    )
    threads, _, said = done.stdout.strip().partition(" ")
    if done.returncode < 0:
        said = signal.Signals(-done.returncode).name
    elif done.returncode > 0:
        said = f"exit status {done.returncode}: {done.stderr}"
    return int(threads or 1), said


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    program, *libraries = sys.argv[1:]
    faults = 0
    for action in ACTIONS:
        without = outcome(program, action)
        beside = (1 if action == "no-clone" else 2, DEVIATIONS.get(action, without[1]))
        for library in libraries:
            by_default = without if "hardened" in Path(library).name else beside
            for setting, expected in [("0", without), ("1", beside), (None, by_default)]:
                told = {} if setting is None else {"HEAPLAB_SCALLOC_PURGE_WHEN_IDLE": setting}
                found = outcome(program, action, LD_PRELOAD=library, **told)
                if found != expected:
                    faults += 1
                    name = f"{Path(library).name}, PURGE_WHEN_IDLE={setting}"
                    print(f"FAULT: {name}: {action}: {found} instead of {expected}")
    print(f"{len(ACTIONS)} actions under {len(libraries)} libraries, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
