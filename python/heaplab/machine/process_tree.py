"""Process trees as a whole: memory with shared pages counted once, CPU time, the busiest process."""

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
KERNEL_NAME = 15  # characters of a name that the kernel keeps
SHARES = (b"Pss_Anon:", b"Pss_Shmem:")
CHILDREN_TICKS = slice(13, 15)  # cutime and cstime in /proc/PID/stat, counted from the field after the name


def name_of(pid: int, executable: Path) -> str:
    """The name by which a running program was started: where that was a link, the name of the link.

    A program may write over its arguments, and over its name in the kernel: where these two differ, the name
    of its file counts. In the middle of an exec the kernel has the name already, and no arguments yet. Raises
    OSError.
    """
    known = Path(f"/proc/{pid}/comm").read_text(errors="replace").removesuffix("\n")
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
    if not arguments and 0 < len(known) < KERNEL_NAME:
        return known
    started = arguments.partition(b"\0")[0].decode(errors="replace")
    names = (Path(words).name for words in (started, started.partition(" ")[0]))
    return next((name for name in names if known and name[:KERNEL_NAME] == known), executable.name)


@dataclass(frozen=True)
class TreeMemory:
    """Anonymous and shared memory in B. A page that n processes map counts 1/n for each of them (Pss)."""

    resident: int = 0  # includes lazily freed pages
    lazily_freed: int = 0  # MADV_FREE: pages still resident, which the kernel takes when it needs pages
    page_tables: int = 0

    @property
    def unreclaimable(self) -> int:
        """The memory that the kernel cannot take back: resident, without lazily freed pages."""
        return self.resident - self.lazily_freed + self.page_tables


def memory_of(tree: Iterable[int]) -> TreeMemory:
    """The memory of these processes; a process that has ended or is not readable counts 0."""
    resident = lazily_freed = tables = 0
    for pid in tree:
        with contextlib.suppress(OSError):
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
            resident += sum(field_of(rollup, name) for name in SHARES)
            lazily_freed += field_of(rollup, b"LazyFree:")
            tables += field_of(Path(f"/proc/{pid}/status").read_bytes(), b"VmPTE:")
    return TreeMemory(resident, lazily_freed, tables)


def field_of(content: bytes, name: bytes) -> int:
    """The value in B of a line `Name:  123 kB`; 0 if there is no such line."""
    at = content.find(b"\n" + name)
    return int(content[at + len(name) + 1 :].split(None, 1)[0]) * 1024 if at >= 0 else 0


def cpu_of(tree: Iterable[int]) -> dict[int, float]:
    """CPU seconds that each process has used, including children for which it has waited."""
    seconds = {}
    for pid in tree:
        with contextlib.suppress(OSError):
            seconds[pid] = own_cpu(pid) + children_cpu(pid)
    return seconds


def own_cpu(pid: int) -> float:
    """CPU seconds of all threads of a process, exact to a nanosecond; /proc counts in ticks of 10 ms."""
    clock = ctypes.c_int()
    if fault := LIBC.clock_getcpuclockid(pid, ctypes.byref(clock)):
        raise OSError(fault, os.strerror(fault))
    return time.clock_gettime(clock.value)


def children_cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return sum(map(int, words[CHILDREN_TICKS])) / CLOCK_TICKS


def busiest(tree: Iterable[int]) -> int | None:
    """The process that used the most CPU time; None if all have ended."""
    used = cpu_of(tree)
    return max(used, key=lambda pid: used[pid], default=None)


def kill_tree(pid: int) -> None:
    """Kill a process and all its descendants, including those that have left its session."""
    for descendant in descendants(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(descendant, signal.SIGKILL)


@contextlib.contextmanager
def nothing_left() -> Iterator[None]:
    """At the end of the block, kill every process started in it that outlived its parent.

    Inside the block, orphans become children of heaplab, whatever their session.
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
