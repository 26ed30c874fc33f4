"""Runs test programs under the recorder and reads what it wrote."""

import csv
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

CONTROL_MAGIC = 0x326C6F72746E6F63  # src/trace/raw/raw_file.h
COUNTER, TICKETS = 1, 2  # stamps
ON, WAITING, SAMPLING = 1, 2, 5
FILTERS = 1000  # of system calls: more than these tests run under


class Recorder:
    def __init__(self, library: str, tool: str, programs: str, folder: Path) -> None:
        self.library, self.tool, self.programs, self.folder = library, tool, Path(programs), folder
        self.raw, self.trace = folder / "raw", folder / "x.trace"

    def record(
        self,
        program: str,
        *arguments: object,
        stamps: int = COUNTER,
        most_bytes: int = 0,
        state: int = ON,
        stacks: bool = False,
        before: Callable[[], None] = lambda: None,
        under: str = "",
        filters: int = FILTERS,
        sample_bytes: int = 0,
    ) -> int:
        """Run one of the test programs and return its exit status."""
        state = SAMPLING if sample_bytes else state
        self.raw.mkdir()
        late = state == WAITING
        options = (late, stacks, False, filters, sample_bytes)
        control = struct.pack("<QIIQQQQQQQ", CONTROL_MAGIC, stamps, state, most_bytes, 0, *options)
        (self.raw / "control").write_bytes(control.ljust(4096, b"\0"))
        environment = {
            "HEAPLAB_RECORD": str(self.raw),
            "LD_PRELOAD": ":".join(filter(None, (self.library, under))),
        }
        command = [str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(
            command, env=environment, preexec_fn=before, capture_output=True, check=False, timeout=120
        )
        assert done.stdout == b"", done.stdout
        assert done.stderr == b"", done.stderr
        return done.returncode

    def bytes_on_disk(self) -> int:
        """Of the files of processes, which are longer than they are full."""
        return sum(512 * path.stat().st_blocks for path in self.raw.glob("*.raw"))

    def tell(self, *command: object) -> str:
        done = subprocess.run(
            [self.tool, *map(str, command)], capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def processes(self) -> list[dict[str, dict[str, str]]]:
        self.tell("finish", self.raw, self.trace)
        summary = json.loads(self.tell("summary", self.trace))
        assert summary["damage"] == []
        for process in summary["processes"]:
            assert process["lost_in_file"] == 0
            assert process["events"] == int(process["summary"]["events"])
        return summary["processes"]

    def events(self, process: int = 0, having: str = "") -> list[dict[str, str]]:
        """Those with this text in their line: of a million, to read all takes seconds."""
        head, *lines = self.tell("events", self.trace, process).splitlines()
        return list(csv.DictReader([head, *(line for line in lines if having in line)]))


def number(process: dict[str, dict[str, str]], name: str) -> int:
    return int(process["summary"][name])


def expect_order(process: dict[str, dict[str, str]]) -> None:
    assert number(process, "acquired_while_live") == 0, process["summary"]
    assert number(process, "released_unknown") == 0, process["summary"]


def expect_all(process: dict[str, dict[str, str]]) -> None:
    expect_order(process)
    assert number(process, "lost") == 0, process["summary"]


def expect_lost(recorder: Recorder, why: str, at_least: int) -> None:
    """Every call is recorded, or counted as lost for the given reason.

    Threads lose calls one after the other, so that a recorded call may take up what a lost one freed.
    """
    [process] = recorder.processes()
    assert process["summary"]["lost_because"] == why
    assert number(process, "lost") > 0
    calls = number(process, "acquisitions") + number(process, "releases") + number(process, "lost")
    assert calls >= at_least


def run_case(usage: str, cases: Iterable[Callable[[Recorder], None]]) -> int:
    """The whole of a script of cases: RECORDER TRACE_TOOL PROGRAMS CASE."""
    named = {case.__name__: case for case in cases}
    if len(sys.argv) != 5 or sys.argv[4] not in named:
        print(usage, "Cases:", *named, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        named[sys.argv[4]](Recorder(*sys.argv[1:4], Path(folder)))
    return 0
