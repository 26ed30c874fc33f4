"""Counts the instructions of a process and its children under valgrind's callgrind.

Callgrind executes every instruction itself and replaces no malloc, so that it counts the preloaded one. A
program with the same input gives the same count, except for the effects of what the system tells it: the
time, its process number, addresses. Times and memory under callgrind mean nothing. Of a workload, what runs
while its clock runs is counted, as it is timed.
"""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

TOOL = "valgrind"  # the command, and Debian's package
CLOCKED = "--toggle-collect=heaplab_clocked"  # src/workloads/harness/measurement.h
COUNTS = "counts"  # files counts.PID-THREAD
TOTAL = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)
OBJECT = re.compile(r"^c?ob=\(\d+\) (/.+)$", re.MULTILINE)
FILE = re.compile(rf"{COUNTS}\.(\d+)-(\d+)")


def why_absent() -> str:
    """One line if valgrind is not here; "" if it is."""
    return "" if shutil.which(TOOL) else f"{TOOL} is not here; Debian's package {TOOL} has it"


def version() -> str:
    """What valgrind calls itself; "" where it is not."""
    if why_absent():
        return ""
    return subprocess.run([TOOL, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


@dataclass(frozen=True)
class InstructionCount:
    instructions: int  # of all processes
    threads: int  # of the process that had the most
    objects: frozenset[str]  # files whose instructions were executed


class InstructionCounter:
    """Counts the instructions of commands that begin with `prefix`, in a folder that `close` removes."""

    def __init__(self) -> None:
        self._holder = tempfile.TemporaryDirectory(prefix="heaplab-")
        self._folder = Path(self._holder.name)

    def close(self) -> None:
        self._holder.cleanup()

    @property
    def prefix(self) -> list[str]:
        """The first words of a counted command. Options in VALGRIND_OPTS and .valgrindrc are ignored."""
        return [
            TOOL,
            "--command-line-only=yes",
            "--tool=callgrind",
            "--quiet",
            f"--log-file={self._folder}/log.%p",
            f"--callgrind-out-file={self._folder}/{COUNTS}.%p",
            "--separate-threads=yes",
            "--trace-children=yes",
            "--vgdb=no",
        ]

    def forget(self) -> None:
        """Remove the counts so far."""
        for path in self._folder.iterdir():
            path.unlink()

    def taken(self) -> InstructionCount:
        """The counts since `forget`."""
        total, threads, objects = 0, {"": 0}, set()
        for path in self._folder.iterdir():
            if match := FILE.fullmatch(path.name):
                text = path.read_text(errors="replace")
                total += sum(map(int, TOTAL.findall(text)[-1:]))
                threads[match[1]] = threads.get(match[1], 0) + 1
                objects |= set(OBJECT.findall(text))
        return InstructionCount(total, max(threads.values()), frozenset(objects))
