"""What a program does besides computing, as seen from outside while it runs alone: threads, waits, files.

A thread is busy while it runs or waits for a CPU. The kernel counts both (/proc/PID/task/TID/schedstat), so
that foreign load changes nothing. For the rest of its life, a thread waits for something else. Of several
executions back to back, all figures are of all of them together.

The last look is at a process that has ended, whose counts the kernel keeps until it is waited for. heaplab
may wait for a CPU before that look, so that a life seems longer. Of executions in a row the least waiting
counts: most are looked at in time, and a program that does wait does so in all of them.
"""

import contextlib
import os
import signal
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from heaplab.results.records import Behaviour, Process

NANOSECONDS = 1e9
WORKING = 0.05  # of the run: a thread that is busy for less, such as one that joins others, is no worker
# At an execution, with the first and the last: the lives of several threads are known too badly from fewer.
FEWEST_LOOKS = 12
WRITES = "it writes files, which two of it at once might share"
CATCHES_CONT = 1 << (signal.SIGCONT - 1)
Thread = tuple[int, int]  # process and thread


@dataclass
class ThreadLife:
    """A thread as seen so far; times in s."""

    first: float  # since the start of the run
    last: float
    busy_at_first: float
    busy: float
    delayed: float  # part of `busy` in which the thread waited for a CPU


@dataclass
class Observer:
    """Looks at the threads of a process tree again and again; `look` is that of Job."""

    _lives: dict[Thread, ThreadLife] = field(default_factory=dict)
    _together: set[frozenset[Thread]] = field(default_factory=set)  # the threads of each look
    _leaders: dict[Thread, None] = field(default_factory=dict)  # the first thread of each execution
    _looks: int = 0
    _oddities: dict[str, None] = field(default_factory=dict)  # in the order found

    def look(self, at: float, tree: Sequence[int]) -> None:
        together, leader = set(), tree[0]
        self._leaders[leader, leader] = None
        for pid in tree:
            with contextlib.suppress(OSError):
                for thread, ran, delayed in threads_of(pid):
                    busy = ran + delayed
                    together.add((pid, thread))
                    life = self._lives.setdefault((pid, thread), ThreadLife(at, at, busy, busy, delayed))
                    life.last, life.busy, life.delayed = at, busy, delayed
                for oddity in oddities_of(pid, leader):
                    self._oddities[oddity] = None
        self._together.add(frozenset(together))
        self._looks += 1

    def behaviour(self, process: Process) -> Behaviour | None:
        """What was seen, with what the kernel counted of all executions; None if too little was seen."""
        if not self._lives:
            return None
        ran = (process.user_time + process.system_time) * process.executions
        delayed = sum(life.delayed for life in self._lives.values())
        wall = process.wall_time * process.executions
        # A new process has a delay from before its program began, which a thread's own time cannot hold.
        busy = min(ran + delayed, max(ran, wall * max(map(len, self._together))))
        workers = {of: life for of, life in self._lives.items() if life.busy > WORKING * process.wall_time}
        worked, lived = busy, wall
        if any(len(together & workers.keys()) > 1 for together in self._together):
            if self._looks < FEWEST_LOOKS * process.executions:
                return None
            # the lives of threads are known from the first look to the last
            worked = sum(life.busy - life.busy_at_first for life in workers.values())
            lived = sum(life.last - life.first for life in workers.values())
        elif process.executions > 1:
            lives = [self._lives[leader] for leader in self._leaders if leader in self._lives]
            parts = [(life.busy - life.busy_at_first, life.last - life.first) for life in lives]
            parts = [(worked, lived), *(part for part in parts if part[1] > 0)]
            worked, lived = max(parts, key=lambda part: part[0] / part[1])
        waiting = min(1.0, max(0.0, 1 - worked / lived)) if lived else 0.0
        return Behaviour(busy=busy / wall, waiting=waiting, oddities=list(self._oddities))


def threads_of(pid: int) -> Iterator[tuple[int, float, float]]:
    """(thread, s on a CPU, s of waiting for a CPU) of each thread of a process."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", "rb", buffering=0) as stream:
            ran, delayed, _ = stream.read(100).split()
        yield int(thread), int(ran) / NANOSECONDS, int(delayed) / NANOSECONDS


def oddities_of(pid: int, leader: int) -> Iterator[str]:
    """Activities of a process that a second process beside it, or a pause, may disturb."""
    if os.getpgid(pid) != leader:
        yield "some of its processes leave its process group"
    status = Path(f"/proc/{pid}/status").read_bytes()
    if int(status_field(status, b"SigCgt:"), 16) & CATCHES_CONT:
        yield "it would notice that it is continued (SIGCONT)"
    if status_field(status, b"TracerPid:") != b"0":
        yield "it traces processes"
    if any(is_written(pid, name) for name in os.listdir(f"/proc/{pid}/fd")):
        yield WRITES


def status_field(status: bytes, name: bytes) -> bytes:
    return status.split(name, 1)[1].split(None, 1)[0]


def is_written(pid: int, descriptor: str) -> bool:
    """Whether a descriptor writes a regular file that has a name."""
    path = f"/proc/{pid}/fd/{descriptor}"
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink == 0:
        return False
    return os.lstat(path).st_mode & stat.S_IWUSR != 0
