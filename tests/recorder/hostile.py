#!/usr/bin/env python3
"""Programs that take away what a recorder may want to rely on: they do what they did, and nothing is lost
silently.

Usage: hostile.py RECORDER TRACE_TOOL PROGRAMS CASE      PROGRAMS is the folder of the test programs
"""

import subprocess
import sys

from recorded_program import Recorder, expect_all, expect_order, number, run_case

HOSTILE = "recorded_hostile"


def descriptors_taken_over(recorder: Recorder) -> None:
    """The program puts a file of its own under every number that becomes free: nothing is written to it."""
    file = recorder.folder / "user.dat"
    content = bytes(range(256)) * 1024
    file.write_bytes(content)
    assert recorder.record(HOSTILE, "closing", file) == 0
    assert file.read_bytes() == content
    processes = recorder.processes()
    assert len(processes) == 6
    for process in processes:
        expect_all(process)
    assert number(processes[0], "acquisitions") >= 6 * 40 * 3000
    assert all(number(process, "acquisitions") >= 30_000 for process in processes[1:])


def descriptors_run_out(recorder: Recorder) -> None:
    """A process that cannot create its file tries again; what is lost meanwhile has its true reason."""
    assert recorder.record(HOSTILE, "out_of_descriptors") == 0
    first, second = recorder.processes()
    expect_all(first)
    assert number(second, "acquisitions") >= 49_000
    assert 0 < number(first, "lost_elsewhere") < 5000
    assert first["summary"]["lost_elsewhere_because"] == "refused by the system: Too many open files"


def refusing_filter(recorder: Recorder) -> None:
    """A filter that the recorder does not see, and that refuses its calls: the reason is told."""
    assert recorder.record(HOSTILE, "filtered", "unseen") == 0
    [process] = recorder.processes()
    expect_order(process)
    assert process["summary"]["lost_because"] == "refused by the system: Operation not permitted"
    calls = number(process, "acquisitions") + number(process, "releases") + number(process, "lost")
    assert calls >= 900_000


def killing_filter(recorder: Recorder, how: str = "prctl") -> None:
    """The recorder makes no call that would end the program, and records into what it has."""
    assert recorder.record(HOSTILE, "filtered", how) == 0
    [process] = recorder.processes()
    expect_order(process)
    assert process["summary"]["lost_because"] == "behind a filter of system calls (seccomp)"
    # What was mapped before the filter, 16 MiB, takes part of the calls behind the filter.
    assert 100_000 + 500_000 <= number(process, "events") < 700_000
    assert number(process, "ended") == 1
    calls = number(process, "acquisitions") + number(process, "releases") + number(process, "lost")
    assert calls >= 900_000


def killing_filter_by_syscall(recorder: Recorder) -> None:
    killing_filter(recorder, "syscall")


def sampled_behind_filter(recorder: Recorder) -> None:
    """While every block is a sample, too, nothing ends the program."""
    assert recorder.record(HOSTILE, "filtered", "prctl", sample_bytes=1) == 0
    assert len(list(recorder.raw.glob("*.raw"))) == 1


def filter_from_before(recorder: Recorder) -> None:
    """A program that begins under a filter is not recorded, and the trace says so."""
    program = recorder.programs / "recorded_processes"
    assert recorder.record(HOSTILE, "filtered_child", program, filters=own_filters()) == 0
    first, *others = recorder.processes()
    assert number(first, "filtered_processes") == 1
    assert all("recorded_processes" not in other["process"]["program"] for other in others)


def own_filters() -> int:
    with open("/proc/self/status") as status:
        found = dict(line.split(":", 1) for line in status)
    return int(found.get("Seccomp_filters") or found["Seccomp"])


def smallest_limit(recorder: Recorder) -> None:
    """A limit that holds nothing is named as the reason."""
    assert recorder.record(HOSTILE, "leaving", 0, most_bytes=1) == 0
    command = [recorder.tool, "finish", recorder.raw, recorder.trace]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(" calls were not recorded: size limit\n"), done.stderr


CASES = (
    descriptors_taken_over,
    descriptors_run_out,
    refusing_filter,
    killing_filter,
    killing_filter_by_syscall,
    sampled_behind_filter,
    filter_from_before,
    smallest_limit,
)

if __name__ == "__main__":
    sys.exit(run_case(__doc__, CASES))
