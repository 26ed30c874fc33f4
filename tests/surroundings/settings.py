#!/usr/bin/env python3
"""See each setting of scalloc's in the environment take effect, and each unusable value refused in one line.

Usage: settings.py PROBE EARLY_PROBE LIBRARY        EARLY_PROBE allocates before any constructor runs

Exit status 0: all do, 1: one does not, 2: wrong usage.
"""

import os
import subprocess
import sys
from collections.abc import Callable

MIB = 1 << 20

# Settings, task of the probe and the seconds it waits, what must become of it. Where much is to be retained,
# the background purge thread is off: it purges after a second, and a busy machine may ask later than that.
TAKEN: list[tuple[str, str, Callable[[str], bool]]] = [
    ("REUSE_PERCENT=0", "reuse", lambda grown: int(grown) < MIB // 2),
    ("REUSE_PERCENT=20", "reuse", lambda grown: int(grown) < MIB // 2),
    ("REUSE_PERCENT=40", "reuse", lambda grown: int(grown) >= MIB // 2),
    ("REUSE_PERCENT=100", "reuse", lambda grown: int(grown) >= MIB // 2),
    ("MADVISE_ABOVE=never PURGE_WHEN_IDLE=0", "retained", lambda kept: int(kept) >= 100 * MIB),
    ("MADVISE_ABOVE=1TiB PURGE_WHEN_IDLE=0", "retained", lambda kept: int(kept) >= 100 * MIB),
    ("MADVISE_ABOVE=0 RETAIN=32MiB", "retained", lambda kept: int(kept) < 75 * MIB),
    ("MADVISE_ABOVE=8KiB RETAIN=32MiB", "retained", lambda kept: int(kept) < 75 * MIB),
    ("MADVISE_ABOVE=16KiB PURGE_WHEN_IDLE=0", "retained", lambda kept: int(kept) >= 100 * MIB),
    ("RETAIN=1GiB PURGE_WHEN_IDLE=0", "retained", lambda kept: int(kept) >= 100 * MIB),
    ("RETAIN=0", "retained", lambda kept: int(kept) < MIB),
    ("PURGE_WHEN_IDLE=1", "retained", lambda kept: int(kept) >= 100 * MIB),
    ("PURGE_WHEN_IDLE=0", "retained", lambda kept: int(kept) < 75 * MIB),
    ("PURGE_WHEN_IDLE=1", "replaced", lambda held: int(held) < 150 * MIB),
    ("ARENA=8MiB", "reserved", lambda bytes_: int(bytes_) == 8 * MIB),
    ("ARENA=1073741824", "reserved", lambda bytes_: int(bytes_) == 1024 * MIB),
    ("ARENA=1TiB", "reserved", lambda bytes_: int(bytes_) >= 1024 * MIB),
    ("ARENA=8MiB", "retained", lambda kept: int(kept) <= 8 * MIB),  # the rest are mappings
    ("HUGE_PAGES=never", "flags", lambda flags: " nh" in flags and " hg" not in flags),
    ("HUGE_PAGES=grown", "flags", lambda flags: " nh" in flags and " hg" not in flags),
    ("HUGE_PAGES=always", "flags", lambda flags: " hg" in flags and " nh" not in flags),
    ("PURGE_AT_ONCE=0 RETAIN=32MiB", "retained", lambda kept: int(kept) < 75 * MIB),
    ("PURGE_AT_ONCE=1 RETAIN=32MiB", "retained", lambda kept: int(kept) < 75 * MIB),
    ("PURGE_WHEN_IDLE=0", "idle 5", lambda left: int(left) >= 16 * MIB),
    ("PURGE_WHEN_IDLE=1", "idle", lambda left: int(left) < 16 * MIB),
    ("PURGE_WHEN_IDLE=0", "thinned 5", lambda left: int(left) >= 48 * MIB),
    ("PURGE_WHEN_IDLE=1", "thinned", lambda left: int(left) < 48 * MIB),
    ("PURGE_WHEN_IDLE=1", "child", lambda said: said == "idle\n"),
    ("PURGE_WHEN_IDLE=1", "refused", lambda said: said == "later\n"),
    ("PURGE_WHEN_IDLE=1", "single", lambda said: said == "single\n"),
    ("STATISTICS=0", "reserved", lambda bytes_: int(bytes_) > 0),
]

UNUSABLE = [
    *(("REUSE_PERCENT", value) for value in ("", "101", "-1", "50%", "1e1", " 5", "4" * 400)),
    *(("MADVISE_ABOVE", value) for value in ("", "much", "64kb", "-1", "16 KiB", "99999999TiB")),
    *(("ARENA", value) for value in ("", "0", "7MiB", "1025GiB", "2TiB", "always", "18446744073709551616")),
    *(("HUGE_PAGES", value) for value in ("", "sometimes", "Always", "1", "x" * 5000)),
    *(("PURGE_AT_ONCE", value) for value in ("", "2", "always")),
    *(("PURGE_WHEN_IDLE", value) for value in ("", "2", "true")),
    *(("STATISTICS", value) for value in ("", "2", "yes", "\x1b[31m")),
]

STATISTICS = "address space reserved, bytes:"


def run(probe: str, library: str, task: str, **settings: str) -> subprocess.CompletedProcess[str]:
    variables = {f"HEAPLAB_SCALLOC_{name}": value for name, value in settings.items()}
    environment = os.environ | {"LD_PRELOAD": library} | variables
    return subprocess.run(
        [probe, *task.split()], env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    probe, early_probe, library = sys.argv[1:]
    faults = 0

    def require(holds: bool, what: str, done: subprocess.CompletedProcess[str]) -> None:
        nonlocal faults
        if not holds or done.returncode != 0:
            faults += 1
            print(f"FAULT: {what}: exit status {done.returncode}: {done.stdout!r} {done.stderr!r}")

    for settings, task, holds in TAKEN:
        done = run(probe, library, task, **dict(setting.split("=") for setting in settings.split()))
        require(done.returncode == 0 and holds(done.stdout) and done.stderr == "", f"{settings} {task}", done)
    done = run(early_probe, library, "reserved", ARENA="8MiB")
    require(done.stdout == f"{8 * MIB}\n", "ARENA=8MiB where the first block comes before constructors", done)
    done = run(probe, library, "reserved", STATISTICS="1")
    lines = done.stderr.splitlines()
    require(
        len(lines) > 3 and STATISTICS in lines[0] and done.stdout.strip() in lines[0], "STATISTICS=1", done
    )
    for name, value in UNUSABLE:
        done = run(probe, library, "reserved", **{name: value})
        expected = f"heaplab: HEAPLAB_SCALLOC_{name}={value}"[:500]
        one_line = (
            done.stderr.startswith(expected) and done.stderr.endswith("\n") and done.stderr.count("\n") == 1
        )
        named = "; the default is used" in done.stderr or len(value) > 300
        require(one_line and named, f"{name}={value[:20]}", done)
    bad = dict(UNUSABLE)
    done = run(probe, library, "reserved", **bad)
    require(done.stderr.count("\n") == len(bad), "all unusable at once", done)
    print(f"{len(TAKEN) + len(UNUSABLE) + 3} settings, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
