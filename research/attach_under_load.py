#!/usr/bin/env python3
"""Attach to a server and detach again, many times, while it serves; tell what it noticed.

Prints for how long all its threads stood still: the median, and the longest of all. With --load, a load
generator runs over and over meanwhile, and has to succeed. Exit status 0: every recording was made, and the
server goes on; else 1. A recording that lost a call counts as failed.

Examples:
  research/attach_under_load.py --times 1000 --load 'redis-benchmark -n 100000 -q' $(pidof redis-server)
  research/attach_under_load.py --times 100 --sample 524288 $(pidof -s nginx)
"""

import argparse
import contextlib
import io
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from heaplab.errors import HeaplabError
from heaplab.running import run_attach
from heaplab.tracing.run_record import RecordingOptions

STOOD = re.compile(r"stood still for ([\d.]+) ms")
LOST = re.compile(r"calls lost ([1-9]\d*)")


def attached(pid: str, seconds: float, sample: float | None) -> tuple[list[float], str]:
    """For how many ms the threads stood still; and why there is no recording, "" if there is one."""
    said, fault = io.StringIO(), ""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(said):
        Path(folder).chmod(0o755)  # the server may run as another user
        options = RecordingOptions(
            Path(folder, "x.trace"), "", None, seconds, False, False, False, (), sample
        )
        try:
            run_attach.attach((), pid, options)
        except HeaplabError as error:
            fault = str(error)
    if lost := LOST.search(said.getvalue()):
        fault = f"calls were lost: {lost[1]}"
    return [float(each) for each in STOOD.findall(said.getvalue())], fault


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--for", dest="seconds", type=float, default=0.1, help="s of each recording")
    parser.add_argument("--sample", type=float, help="B between samples; else all calls are recorded")
    parser.add_argument("--load", help="command that is run over and over meanwhile")
    parser.add_argument("pid")
    given = parser.parse_args()
    load = None
    if given.load:
        loop = f"while {given.load} >/dev/null; do :; done"
        load = subprocess.Popen(["sh", "-c", loop], start_new_session=True)
    stood: list[float] = []
    faults: list[str] = []
    for _ in range(given.times):
        times, fault = attached(given.pid, given.seconds, given.sample)
        stood += times
        faults += [fault] if fault else []
    load_failed = load is not None and load.poll() is not None
    if load and not load_failed:
        os.killpg(load.pid, signal.SIGTERM)
    goes_on = Path(f"/proc/{given.pid}").exists()
    print(
        f"{given.times} recordings, {len(faults)} failed; the process {'goes on' if goes_on else 'has ended'}"
    )
    if stood:
        print(f"threads stood still: median {statistics.median(stood):.1f} ms, longest {max(stood):.1f} ms")
    print(*sorted(set(faults)), *(["the load failed"] if load_failed else []), sep="\n")
    return int(bool(faults) or load_failed or not goes_on)


if __name__ == "__main__":
    sys.exit(main())
