"""Processes as a whole: memory with shared pages counted once, CPU time, which one does the work."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heaplab.machine.watch import descendants

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_CHILD_SUBREAPER = 36
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
SHARES = (b"Pss_Anon:", b"Pss_Shmem:")
CHILDREN_TICKS = slice(13, 15)  # cutime and cstime in /proc/PID/stat, behind the name


@dataclass(frozen=True)
class TreeMemory:
    """B of anonymous and shared memory. A page that n processes map counts one n-th for each (Pss)."""

    resident: int = 0  # lazily freed pages among them
    lazily_freed: int = 0  # MADV_FREE: still there, and taken by the kernel as soon as it needs pages
    page_tables: int = 0

    @property
    def held(self) -> int:
        """What the kernel cannot take without asking."""
        return self.resident - self.lazily_freed + self.page_tables


def memory_of(tree: Iterable[int]) -> TreeMemory:
    """The memory of these processes; one that has ended, or may not be looked at, has none."""
    resident = lazily_freed = tables = 0
    for pid in tree:
        with contextlib.suppress(OSError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
            resident += sum(field_of(rollup, name) for name in SHARES)
            lazily_freed += field_of(rollup, b"LazyFree:")
            tables += field_of(Path(f"/proc/{pid}/status").read_bytes(), b"VmPTE:")
    return TreeMemory(resident, lazily_freed, tables)


def field_of(content: bytes, name: bytes) -> int:
    """B of one `Name:  123 kB` line; 0 if there is none."""
    at = content.find(b"\n" + name)
    return int(content[at + len(name) + 1 :].split(None, 1)[0]) * 1024 if at >= 0 else 0


def cpu_of(tree: Iterable[int]) -> dict[int, float]:
    """CPU seconds that each process used so far, with those of children that it has waited for."""
    found = {}
    for pid in tree:
        with contextlib.suppress(OSError):
            found[pid] = own_cpu(pid) + children_cpu(pid)
    return found


def own_cpu(pid: int) -> float:
    """CPU seconds of all threads of a process, exact to a nanosecond where /proc counts in ticks of 10 ms."""
    clock = ctypes.c_int()
    if fault := LIBC.clock_getcpuclockid(pid, ctypes.byref(clock)):
        raise OSError(fault, os.strerror(fault))
    return time.clock_gettime(clock.value)


def children_cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return sum(map(int, words[CHILDREN_TICKS])) / CLOCK_TICKS


def busiest(tree: Iterable[int]) -> int | None:
    """The process that used the most CPU time; None if all are gone."""
    used = cpu_of(tree)
    return max(used, key=lambda pid: used[pid], default=None)


def kill_tree(pid: int) -> None:
    """Kill a process and all below it, also those that have left its session."""
    for one in descendants(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """Kill at the end of the block what was started in it and outlived the process that started it.

    Meanwhile orphans become children of heaplab, whatever session they are in.
    """
    before = set(descendants(os.getpid()))
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        while left := [pid for pid in descendants(os.getpid()) if pid not in before]:
            for pid in left:
                kill_tree(pid)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 0)
