"""Records programs of AArch64 that bring their own malloc, under an emulator: see test_own_malloc.py.

Usage: emulated.py RECORDER MOVE_ENTRIES ENTRIES COUNTED
"""

import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

import test_own_malloc as own
from subprocesses import executable, ran

from heaplab.traces import tool
from heaplab.traces.control import Control
from heaplab.traces.redirecting.functions_file import redirection_of

MACHINE, EMULATOR = "aarch64", os.environ["HEAPLAB_EMULATOR"]
RECORDER, MOVE_ENTRIES, ENTRIES, COUNTED = sys.argv[1:]


def recorded(program: str, *names: str) -> tuple[str, str, dict[str, own.Calls]]:
    """What a program writes to both streams, and its calls."""
    with tempfile.TemporaryDirectory() as folder:
        raw, trace = Path(folder) / "libexec", Path(folder) / "x.trace"
        raw.mkdir()
        executable(raw / "move_entries", f"#!/bin/sh\nexec {EMULATOR} {MOVE_ENTRIES}\n")
        with mock.patch.dict(os.environ, HEAPLAB_NATIVE=folder):
            redirection = redirection_of(Path(program), names)
        assert redirection
        assert redirection.faults == ()
        redirection.write(raw)
        with Control(raw, "tickets", 0, on=True):
            preload = f"-E LD_PRELOAD={RECORDER} -E HEAPLAB_RECORD={raw}"
            done = ran(*EMULATOR.split(), *preload.split(), program, check=True)
        assert redirection.fault_in(raw) == ""
        ran(tool.program(), "finish", raw, trace, check=True)
        return done.stdout, done.stderr, own.calls_in(trace)


names = [name for _, name in own.entries_of(MACHINE)]
said, _, calls = recorded(ENTRIES, *names, "nothing_free")
assert said == "same"
own.assert_as_called(calls, MACHINE)

_, counts, calls = recorded(COUNTED)
own.assert_as_counted(calls, ran(*EMULATOR.split(), COUNTED, check=True).stderr, counts)
