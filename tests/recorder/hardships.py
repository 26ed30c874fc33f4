#!/usr/bin/env python3
"""Programs that make recording hard: they do what they did, and nothing is lost silently.

Usage: hardships.py RECORDER TRACE_TOOL PROGRAMS CASE      PROGRAMS is the folder of the test programs
"""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from recorded_program import Recorder, expect_all, expect_lost, number, run_case

HARDSHIPS = "recorded_hardships"
THREADS = 5000
FILLERS = 150  # of 32 bytes: more than glibc keeps for libraries loaded late


def threads_at_once(recorder: Recorder) -> None:
    assert recorder.record(HARDSHIPS, "at_once", THREADS) == 0
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "threads") >= THREADS / 2
    assert number(process, "acquisitions") >= number(process, "threads") * 40 - 40


def static_program(recorder: Recorder) -> None:
    """What a recorded program executes cannot be recorded: the recording up to there is whole."""
    assert recorder.record(HARDSHIPS, "execute", recorder.programs / "recorded_linked_statically") == 7
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "acquisitions") >= 100
    assert number(process, "ended") == 0


def locale_first(recorder: Recorder) -> None:
    """The recorder begins in a call of malloc by setlocale, which holds a lock of the C library."""
    assert recorder.record("recorded_locale_first") == 0
    [process] = recorder.processes()
    expect_all(process)


def little_address_space(recorder: Recorder) -> None:
    """Room for the smallest chunks of the recorder is enough."""
    assert recorder.record(HARDSHIPS, "narrow", 1 << 17) == 0
    [process] = recorder.processes()
    expect_all(process)
    assert number(process, "acquisitions") >= 200_000


def no_address_space(recorder: Recorder) -> None:
    """Of a limited address space the recorder takes no more than it needs, and then has none."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 36, 1 << 36))

    assert recorder.record(HARDSHIPS, "narrow", -(1 << 20), before=limit) == 0
    expect_lost(recorder, "no memory to map", 400_000)


def libraries(recorder: Recorder) -> Path:
    folder = recorder.folder / "fillers"
    folder.mkdir()
    for name in range(FILLERS):
        shutil.copy(recorder.programs / "librecorded_thread_local_filler.so", folder / f"{name}.so")
    return folder


def no_thread_local_memory(recorder: Recorder) -> None:
    """Without it a late dlopen of the recorder fails as that of any library, and the program goes on."""
    program = recorder.programs / HARDSHIPS
    command = [str(program), "fill_tls", str(libraries(recorder)), recorder.library]
    assert 0 < subprocess.run(command, env=dict(os.environ), check=False).returncode < FILLERS


def thread_local_memory_is_left(recorder: Recorder) -> None:
    """Preloaded, the recorder takes none of what the loader keeps for libraries loaded late.

    The loader rounds this memory up, and so may have room for one library more or less.
    """
    fillers = libraries(recorder)
    alone = subprocess.run([recorder.programs / HARDSHIPS, "fill_tls", fillers, ""], check=False).returncode
    assert abs(recorder.record(HARDSHIPS, "fill_tls", fillers, "") - alone) <= 1
    [process] = recorder.processes()
    expect_all(process)


CASES = (
    threads_at_once,
    static_program,
    locale_first,
    little_address_space,
    no_address_space,
    no_thread_local_memory,
    thread_local_memory_is_left,
)

if __name__ == "__main__":
    sys.exit(run_case(__doc__, CASES))
